package worker

import (
	"os"
	"path/filepath"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/worker/netidentity"
	"github.com/lifepod/lifepod/worker/podcgroup"
)

// TestResolverOfEachSandbox: the machine's servers are those of the moment (A-NET-3), and a
// configuration that can't be read fails the sandbox.
func TestResolverOfEachSandbox(t *testing.T) {
	path := filepath.Join(t.TempDir(), "resolv.conf")
	h := &executor{engine: &Engine{Cgroups: podcgroup.Driver{}}, pod: podOf("web", v1.RestartPolicyNever, "main"), results: &results{}}
	h.pod.Spec.DNSPolicy = v1.DNSDefault
	h.engine.DNS.Resolver = func() (netidentity.Resolver, error) { return netidentity.ResolverOf(path) }
	if _, _, err := h.sandboxConfig(0, ""); err == nil {
		t.Error("no error without the file")
	}
	for _, server := range []string{"192.0.2.1", "192.0.2.2"} {
		assert.Must(t, os.WriteFile(path, []byte("nameserver "+server+"\n"), 0o600))
		config, _, err := h.sandboxConfig(0, "")
		assert.Must(t, err)
		assert.Deep(t, "servers", []string{server}, config.GetDnsConfig().GetServers())
	}
}
