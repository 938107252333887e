package architecture

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/lifepod/lifepod/internal/assert"
)

const (
	kubelet = "k8s.io/kubernetes/pkg/kubelet"
	probe   = "k8s.io/kubernetes/pkg/probe"
)

// lives are the packages that take pods through their life upstream: that is done by
// lifepod's own. What else of the kubelet is linked is what upstream's API server and
// controllers need of it: the client of nodes' APIs, names of events and metrics,
// what evicts.
var lives = []string{
	"k8s.io/kubernetes/cmd/kubelet", kubelet + "/kuberuntime", kubelet + "/prober", kubelet + "/pleg",
	kubelet + "/images", kubelet + "/volumemanager", kubelet + "/nodeshutdown", kubelet + "/pod", kubelet + "/preemption",
}

// TestNoKubelet: lifepod replaces the kubelet, it does not contain it.
func TestNoKubelet(t *testing.T) {
	for ours, imports := range list(t, "{{.ImportPath}}{{range .Imports}} {{.}}{{end}}", "./...") {
		for _, dep := range imports {
			assert.True(t, !below(dep, kubelet) && !below(dep, probe), "%s imports %s: the node is lifepod's own", ours, dep)
		}
	}
	linked := list(t, "{{.ImportPath}}", "-deps", "./cmd/lifepod-cluster")
	for dep := range linked {
		// Its util is of a few lines that others need.
		assert.True(t, dep != kubelet && (!below(dep, lives...) || dep == kubelet+"/kuberuntime/util"),
			"the program has %s: pods' lives are lifepod's own", dep)
	}
	for _, known := range []string{"k8s.io/kubernetes/cmd/kube-apiserver/app", "github.com/lifepod/lifepod/lifecycle"} {
		_, ok := linked[known]
		assert.True(t, ok, "go list does not know that the program has %s", known)
	}
}

// TestNoRuntime: containerd and runc are programs that are carried, in the versions of
// bundle/runtime.
func TestNoRuntime(t *testing.T) {
	for dep := range list(t, "{{.ImportPath}}", "-deps", "./cmd/lifepod-cluster") {
		assert.True(t, !below(dep, "github.com/containerd/containerd/v2", "github.com/opencontainers/runc"),
			"the program has %s: it lives in bundle/runtime", dep)
	}
}

func below(dep string, parents ...string) bool {
	for _, parent := range parents {
		if dep == parent || strings.HasPrefix(dep, parent+"/") {
			return true
		}
	}
	return false
}

// list asks the go command for packages: the first word of each line, and the others.
func list(t *testing.T, format string, args ...string) map[string][]string {
	t.Helper()
	command := exec.Command("go", append([]string{"list", "-f", format}, args...)...)
	command.Dir = "../.."
	out, err := command.Output()
	assert.Require(t, err == nil, "%s: %v", command, err)
	packages := map[string][]string{}
	for line := range strings.Lines(string(out)) {
		if words := strings.Fields(line); len(words) > 0 {
			packages[words[0]] = words[1:]
		}
	}
	return packages
}
