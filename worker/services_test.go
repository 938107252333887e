package worker

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/lifecycle"
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

type assigner struct {
	gives criconfig.Assigned
	err   error
}

func (a assigner) Assigned(context.Context, *v1.Pod, *v1.Container) (criconfig.Assigned, error) {
	return a.gives, a.err
}

// A-DEV-1: all parts of the node assign in their order, and a container is not created without one of them.
func TestAssigners(t *testing.T) {
	pod := podOf("web", v1.RestartPolicyAlways, "main")
	claims, devices := assigner{gives: criconfig.Assigned{CDIDevices: []string{"v/c=1"}}}, assigner{gives: criconfig.Assigned{CDIDevices: []string{"v/d=1"}}}
	h := &executor{engine: &Engine{Assigners: []Assigner{claims, devices}}, pod: pod}
	got, err := h.assigned(t.Context(), &pod.Spec.Containers[0])
	diff := cmp.Diff([]string{"v/c=1", "v/d=1"}, got.CDIDevices)
	assert.True(t, diff == "" && err == nil, "assigned (-want +got), error %v:\n%s", err, diff)
	h.engine.Assigners = append(h.engine.Assigners, assigner{err: errors.New("endpoint gone")})
	assert.Fails(t, assert.ErrorOf(h.assigned(t.Context(), &pod.Spec.Containers[0])), "A-DEV-1: no error")
}

// A-CST-7: what this machine lacks files for is no fault of the spec: the create was not made, and is made again soon.
func TestCreateLacksFiles(t *testing.T) {
	pod := podOf("web", v1.RestartPolicyAlways, "main")
	lacks := assigner{err: os.NewSyscallError("open", unix.EMFILE)}
	h := &executor{engine: &Engine{Assigners: []Assigner{lacks}}, pod: pod}
	fact := h.createContainer(t.Context(), lifecycle.CreateContainer{Container: "main"}).(lifecycle.ContainerCreated)
	assert.Deep(t, "failure", &lifecycle.Failure{Class: lifecycle.Unavailable, Message: "open: too many open files"}, fact.Failure)
}

// A-DEV-1: variables of devices are overridden by the container's own, which don't see them; its command does.
func TestAssignedVariables(t *testing.T) {
	pod := podOf("web", v1.RestartPolicyAlways, "main")
	main := &pod.Spec.Containers[0]
	main.Env = []v1.EnvVar{{Name: "OWN", Value: "mine"}, {Name: "SEES", Value: "$(GPU)"}}
	main.Command = []string{"train", "$(GPU)", "$(OWN)"}
	h := &executor{engine: &Engine{API: API{Objects: func(*v1.Pod) Objects { return noObjects{} }}}, pod: pod, results: &results{}}
	got := assert.Get(h.environment(t.Context(), main, nil, []criconfig.KeyValue{{Name: "OWN", Value: "plugin"}, {Name: "GPU", Value: "0"}})).Must(t)
	want := criconfig.Environment{
		Env:     []criconfig.KeyValue{{Name: "GPU", Value: "0"}, {Name: "OWN", Value: "mine"}, {Name: "SEES", Value: "$(GPU)"}},
		Command: []string{"train", "0", "mine"},
	}
	got.Args = nil
	assert.Deep(t, "environment", want, got)
}
