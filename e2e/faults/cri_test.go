package faults

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/bundle"
	"github.com/lifepod/lifepod/e2e/machine"
	"github.com/lifepod/lifepod/e2e/member"
	"github.com/lifepod/lifepod/internal/assert"
)

// startBehindProxy starts a node on a containerd that is not its own, through a
// proxy.
func startBehindProxy(t *testing.T) (*node, *criProxy) {
	t.Helper()
	dir := assert.Get(os.MkdirTemp("", "lp-faults-")).Must(t)
	root := machine.Root{Dir: dir}
	runtime := assert.Get(bundle.Open(t.Context(), bundle.Config{Root: dir})).Must(t)
	t.Cleanup(func() {
		assert.NoError(t, runtime.Close(context.Background()))
		for _, left := range butAddresses(root.Left()) {
			t.Errorf("left behind: %s", left)
		}
		assert.NoError(t, os.RemoveAll(dir))
	})
	assert.Must(t, assert.ErrorOf(runtime.ImportImages(t.Context())))
	proxy := newCRIProxy(t, runtime.Endpoint())
	n := startNode(t, member.Config{Kubelet: map[string]any{"containerRuntimeEndpoint": proxy.Endpoint()}})
	t.Cleanup(proxy.end) // else nothing could be removed
	n.runtimeDir = dir
	n.extra = func() []string { return append(butAddresses(root.LeftOfPods()), n.cgroups()...) }
	return n, proxy
}

// butAddresses leaves out which pod has which address: our network plugin keeps it
// for the pod's whole life, whose end only an agent with the bundled runtime tells
// it.
func butAddresses(left []string) []string {
	return slices.DeleteFunc(left, func(l string) bool { return strings.Contains(l, "/ipam/pods/") })
}

// cgroups are those of the node's pods in the parent that a kubelet has, which
// other nodes may have, too.
func (n *node) cgroups() (left []string) {
	n.history.mu.Lock()
	defer n.history.mu.Unlock()
	for uid := range n.history.pods {
		for _, pattern := range []string{"/sys/fs/cgroup/kubepods/", "/sys/fs/cgroup/*/kubepods/"} {
			for _, class := range []string{"", "*/"} {
				found, err := filepath.Glob(pattern + class + "pod" + string(uid))
				if err != nil {
					panic(err) // the patterns are right
				}
				left = append(left, found...)
			}
		}
	}
	return left
}

// TestHungCalls: what hangs for one pod holds up neither another nor the node
// (B-WRK-1).
func TestHungCalls(t *testing.T) {
	t.Parallel()
	n, proxy := startBehindProxy(t)
	ready := n.watchReady(t)
	stopping := n.create(t, n.shortLived(t, "stopping"))
	running := func(c *podHistory) bool { return c.pod.Status.Phase == v1.PodRunning }
	n.await(t, "running", []*v1.Pod{stopping}, running)
	proxy.begin(
		fault{methods: "RunPodSandbox", about: "starting-" + n.Root.Hash(), chance: 1, kind: hung},
		fault{methods: "StopContainer", about: n.containerID(stopping, "main"), chance: 1, kind: hung},
	)
	starting := n.create(t, n.shortLived(t, "starting"))
	n.remove(t, stopping)
	for _, name := range []string{"other-1", "other-2"} {
		other := n.create(t, n.restarting(t, name))
		n.awaitReadyPods(t, other)
		n.awaitStarts(t, other, 2)
		n.remove(t, other)
		n.awaitGone(t, other)
	}
	hanging := time.Now()
	n.awaitLease(t, hanging)
	was := ready()
	assert.True(t, len(was) == 1, "the node's Ready condition was %v", was)
	proxy.end()
	n.awaitGone(t, stopping)
	n.await(t, "running", []*v1.Pod{starting}, running)
	n.remove(t, starting)
	n.awaitNoPods(t)
	n.awaitNothingLeft(t)
	t.Logf("calls that hung: %d; the node's Ready condition: %v", proxy.done[hung], ready())
}

// containerID is the runtime's ID of a container, as told last.
func (n *node) containerID(pod *v1.Pod, name string) string {
	n.history.mu.Lock()
	defer n.history.mu.Unlock()
	id := statuses(&n.history.pods[pod.UID].pod.Status)[name].ContainerID
	return id[len("containerd://"):]
}

// TestFailingCalls lets calls of the runtime fail, be late and lose their answers
// under load: what was done is found, nothing is done twice (B-RST-4, B-FIN-6).
func TestFailingCalls(t *testing.T) {
	t.Parallel()
	n, proxy := startBehindProxy(t)
	ready := n.watchReady(t)
	l := n.startLoad(t, rand.New(rand.NewPCG(*seed, 3)))
	const acts = "RunPodSandbox CreateContainer StartContainer StopContainer RemoveContainer StopPodSandbox RemovePodSandbox"
	proxy.begin(
		fault{methods: acts, chance: 0.1, kind: unavailable},
		fault{methods: acts, chance: 0.1, kind: lost},
		fault{methods: "ListPodSandbox ListContainers ContainerStatus PodSandboxStatus", chance: 0.1, kind: unavailable},
		fault{chance: 0.2, kind: late, delay: 300 * time.Millisecond},
	)
	time.Sleep(*failing) // these are the faults, not a wait
	proxy.end()
	l.settle(t)
	t.Logf("%v of calls that failed (%d), lost their answers (%d), were late (%d): %s; the node's Ready condition: %v",
		*failing, proxy.done[unavailable], proxy.done[lost], proxy.done[late], l.figures(), ready())
}
