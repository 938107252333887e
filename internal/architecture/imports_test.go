package architecture

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/lifepod/lifepod/internal/assert"
)

const (
	module     = "github.com/lifepod/lifepod"
	kubernetes = "k8s.io/kubernetes"
)

// rule forbids packages to some of ours; the reason is shown when it is broken.
type rule struct {
	reason    string
	applies   func(ours string) bool
	forbidden func(dep string) bool
}

var rules = []rule{
	{
		reason:  "the core is pure: it imports nothing that acts, so that the same events always give the same life",
		applies: func(ours string) bool { return below(ours, module+"/lifecycle") },
		forbidden: func(dep string) bool {
			return below(dep, module) && !below(dep, module+"/lifecycle") ||
				anyOf(dep, "google.golang.org/grpc", "k8s.io/client-go", "k8s.io/cri-api", kubernetes)
		},
	},
	{
		reason: "k8s.io/kubernetes is a large internal library: only the manifest reader (defaults and validation) and the control plane use it",
		applies: func(ours string) bool {
			return ours != module+"/node" && !anyOf(ours, module+"/manifest", module+"/cluster", module+"/cmd", module+"/run", module+"/e2e", module+"/bench", module+"/node/source", module+"/sim/scenario/file", module+"/sim/command", module+"/sim/endpoint", module+"/sim/live", module+"/sim/nodes", module+"/lifepodtest")
		},
		forbidden: func(dep string) bool { return below(dep, kubernetes) },
	},
	{
		reason:    "lifepod replaces the kubelet, it does not contain it",
		applies:   func(string) bool { return true },
		forbidden: func(dep string) bool { return anyOf(dep, kubernetes+"/pkg/kubelet", kubernetes+"/pkg/probe") },
	},
	{
		reason:  "containerd and runc live in a module of their own, because their version of the CRI API differs",
		applies: func(string) bool { return true },
		forbidden: func(dep string) bool {
			return anyOf(dep, "github.com/containerd/containerd/v2", "github.com/opencontainers/runc")
		},
	},
	{
		reason:  "the control plane is a module and a program of its own, which lifepod carries and becomes: run and agent are not to pay for its memory",
		applies: func(string) bool { return true },
		forbidden: func(dep string) bool {
			return anyOf(dep, module+"/cluster", "k8s.io/apiserver/pkg/server", kubernetes+"/cmd", "go.etcd.io/etcd/server/v3")
		},
	},
	{
		reason:  "workers decide nothing themselves and know neither commands nor manifests",
		applies: func(ours string) bool { return below(ours, module+"/worker") || ours == module+"/cri" },
		forbidden: func(dep string) bool {
			return anyOf(dep, module+"/run", module+"/manifest", module+"/cmd", module+"/bundle")
		},
	},
}

func below(pkg, parent string) bool { return pkg == parent || strings.HasPrefix(pkg, parent+"/") }

func anyOf(pkg string, parents ...string) bool {
	return slices.ContainsFunc(parents, func(p string) bool { return below(pkg, p) })
}

// TestImports holds every package of the module, with all that it depends on,
// against the rules.
func TestImports(t *testing.T) {
	for ours, deps := range dependencies(t) {
		for _, r := range rules {
			if !r.applies(ours) {
				continue
			}
			for _, dep := range deps {
				assert.True(t, !r.forbidden(dep), "%s depends on %s: %s", ours, dep, r.reason)
			}
		}
	}
}

// TestKubernetesIsImportedByManifestOnly looks at direct imports, which the
// packages that use manifest do not have.
func TestKubernetesIsImportedByManifestOnly(t *testing.T) {
	for ours, imports := range list(t, "Imports") {
		for _, dep := range imports {
			assert.True(t, !below(dep, kubernetes) || anyOf(ours, module+"/manifest", module+"/cluster"),
				"%s imports %s: only manifest and cluster may", ours, dep)
		}
	}
}

func dependencies(t *testing.T) map[string][]string { return list(t, "Deps") }

// list asks the go command for a list of every package of the module.
func list(t *testing.T, field string) map[string][]string {
	t.Helper()
	command := exec.Command("go", "list", "-f", "{{.ImportPath}}{{range ."+field+"}} {{.}}{{end}}", module+"/...")
	command.Dir = "../.."
	out, err := command.Output()
	assert.Require(t, err == nil, "%s: %v", command, err)
	packages := map[string][]string{}
	for line := range strings.Lines(string(out)) {
		names := strings.Fields(line)
		packages[names[0]] = names[1:]
	}
	assert.Require(t, len(packages[module+"/lifecycle"]) != 0, "go list does not know package lifecycle")
	return packages
}
