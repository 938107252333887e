package worker

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/worker/criconfig"
	"github.com/lifepod/lifepod/worker/podcgroup"
)

type services struct{ err error }

func (s services) Variables(_ context.Context, pod *v1.Pod) ([]criconfig.KeyValue, error) {
	return []criconfig.KeyValue{{Name: "OWN", Value: "service"}, {Name: "WEB_PORT", Value: "tcp://" + pod.Name}}, s.err
}

// A-ENV-2: service variables come last and override nothing. A-ENV-1: a container
// does not start without them.
func TestServiceVariables(t *testing.T) {
	pod := podOf("web", v1.RestartPolicyAlways, "main")
	pod.Spec.Containers[0].Env = []v1.EnvVar{{Name: "OWN", Value: "mine"}, {Name: "URL", Value: "$(WEB_PORT)"}}
	h := &executor{engine: &Engine{API: API{Objects: func(*v1.Pod) Objects { return noObjects{} }, Services: services{}}}, pod: pod, results: &results{}}
	got := assert.Get(h.environment(t.Context(), &pod.Spec.Containers[0], nil, nil)).Must(t)
	want := []criconfig.KeyValue{{Name: "OWN", Value: "mine"}, {Name: "URL", Value: "tcp://web"}, {Name: "WEB_PORT", Value: "tcp://web"}}
	assert.Deep(t, "environment", want, got.Env)
	h.engine.API.Services = services{err: errors.New("unread")}
	assert.Error(t, "unread", assert.ErrorOf(h.environment(t.Context(), &pod.Spec.Containers[0], nil, nil)), "A-ENV-1")
}

// TestResolverOfEachSandbox: the machine's servers are those of the moment (A-NET-3), and a
// configuration that can't be read fails the sandbox.
func TestResolverOfEachSandbox(t *testing.T) {
	path := filepath.Join(t.TempDir(), "resolv.conf")
	h := &executor{engine: &Engine{Cgroups: podcgroup.Driver{}}, pod: podOf("web", v1.RestartPolicyNever, "main"), results: &results{}}
	h.pod.Spec.DNSPolicy = v1.DNSDefault
	h.engine.DNS.Resolver = func() (criconfig.Resolver, error) { return criconfig.ResolverOf(path) }
	_, _, err := h.sandboxConfig(0, "")
	assert.True(t, err != nil, "no error without the file")
	for _, server := range []string{"192.0.2.1", "192.0.2.2"} {
		assert.Must(t, os.WriteFile(path, []byte("nameserver "+server+"\n"), 0o600))
		config, _, err := h.sandboxConfig(0, "")
		assert.Must(t, err)
		assert.Deep(t, "servers", []string{server}, config.GetDnsConfig().GetServers())
	}
}
