package faults

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lifepod/lifepod/e2e/member"
	"github.com/lifepod/lifepod/internal/assert"
)

// TestNetworkCut cuts the network between agent and API server in four ways: it is
// silent, refuses, resets or slow. Meanwhile pods restart and are deleted; when it
// is whole again, Lease, statuses and watches are right (B-RST-10).
//
// Hours are not waited for: the node renews its Lease each second here, so that
// what takes an agent 40 s takes it 4; how long retries may pause at most is up to
// the tests of the packages that retry.
func TestNetworkCut(t *testing.T) {
	t.Parallel()
	between := newNetwork(t)
	const name = "cut-off"
	n := startNode(t, member.Config{
		Name: name, Flags: []string{"--kubeconfig=" + between.kubeconfig(t, name)},
		Kubelet: map[string]any{"nodeLeaseDurationSeconds": 4, "nodeStatusUpdateFrequency": "2s"},
	})
	steady := n.create(t, n.steady(t, "steady"))
	n.awaitReadyPods(t, steady)
	for _, way := range []struct {
		name string
		cut  func()
	}{
		{"silent", between.cut},
		{"refused", func() { between.refuse(); between.reset() }},
		{"reset", between.reset},
		{"slow", func() { between.slow(300 * time.Millisecond) }},
	} {
		n.cutOff(t, between, way.name, way.cut)
	}
	n.remove(t, steady)
	n.awaitNoPods(t)
	n.awaitNothingLeft(t)
}

// cutOff cuts the network while pods restart and one is deleted, and one created.
func (n *node) cutOff(t *testing.T, between *network, name string, cut func()) {
	t.Helper()
	restarting := n.create(t, n.restarting(t, "restarting-"+name))
	doomed := n.create(t, n.shortLived(t, "doomed-"+name))
	n.await(t, "running", []*v1.Pod{restarting, doomed}, func(c *podHistory) bool { return c.pod.Status.Phase == v1.PodRunning })
	cut()
	before := n.starts(restarting)
	assert.Must(t, admin.CoreV1().Pods("default").Delete(t.Context(), doomed.Name, metav1.DeleteOptions{}))
	fresh := n.create(t, n.shortLived(t, "fresh-"+name))
	time.Sleep(*outage)                    // this is the fault, not a wait
	n.awaitStarts(t, restarting, before+1) // it goes on with its pods (B-LOST-8)
	mended := time.Now()
	between.mend()
	n.awaitGone(t, doomed)
	gone := time.Since(mended)
	n.await(t, "running", []*v1.Pod{fresh}, func(c *podHistory) bool { return c.pod.Status.Phase == v1.PodRunning })
	n.awaitLease(t, mended)
	n.awaitRight(t, restarting)
	t.Logf("network %s for %v: what was deleted meanwhile was gone %v after, all was right after %v",
		name, *outage, gone.Round(time.Millisecond), time.Since(mended).Round(time.Millisecond))
	n.remove(t, restarting)
	n.remove(t, fresh)
	n.awaitGone(t, restarting, fresh)
}

// starts is how often the main container of a pod wrote that it began.
func (n *node) starts(pod *v1.Pod) int {
	text, err := os.ReadFile(filepath.Join(n.dir, string(pod.UID)))
	assert.Require(n.t, err == nil || os.IsNotExist(err), "%v", err)
	return judge(string(text), nil).starts["main"]
}

// awaitStarts waits until a pod's main container has begun so often, whoever knows.
func (n *node) awaitStarts(t *testing.T, pod *v1.Pod, want int) {
	t.Helper()
	eventually(t, "for "+pod.Name+" to restart", func() string {
		if got := n.starts(pod); got < want {
			return fmt.Sprintf("%d starts, want %d", got, want)
		}
		return ""
	})
}

// awaitRight waits until the API has as many restarts of a pod that goes on
// restarting as there were when the call began, at least.
func (n *node) awaitRight(t *testing.T, pod *v1.Pod) {
	t.Helper()
	want := n.starts(pod) - 1
	n.await(t, "right", []*v1.Pod{pod}, func(c *podHistory) bool {
		return int(statuses(&c.pod.Status)["main"].RestartCount) >= want
	})
}

// awaitLease waits until the node's Lease was renewed after a time.
func (n *node) awaitLease(t *testing.T, after time.Time) {
	t.Helper()
	eventually(t, "for the Lease", func() string {
		lease, err := admin.CoordinationV1().Leases(v1.NamespaceNodeLease).Get(context.Background(), n.Name, metav1.GetOptions{})
		if err != nil {
			return err.Error()
		}
		if !lease.Spec.RenewTime.After(after) {
			return "renewed at " + lease.Spec.RenewTime.String()
		}
		return ""
	})
}
