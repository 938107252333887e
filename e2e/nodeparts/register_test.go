package nodeparts

import (
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lifepod/lifepod/e2e/machine"
	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/node/register"
)

// A node with the rights of a node joins: the API server takes all of its object,
// the node controller takes its taint of not being ready away, kubectl shows it.
func TestJoin(t *testing.T) {
	run(t, "join", func(c *register.Config) {
		c.Labels = map[string]string{"node.kubernetes.io/role": "test", "disk": "ssd"}
		c.Taints = []v1.Taint{{Key: "dedicated", Value: "x", Effect: v1.TaintEffectNoSchedule}}
	})
	node := await(t, "join", "Ready, with the user's taint only", func(n *v1.Node) bool {
		return isReady(n) && len(n.Spec.Taints) == 1
	})
	assert.True(t, node.Spec.Taints[0].Key == "dedicated" && node.Labels["disk"] == "ssd" && node.Labels["node.kubernetes.io/role"] == "test",
		"taints %v, labels %v", node.Spec.Taints, node.Labels)
	if plane.Has(t, "NodeDeclaredFeatures") { // without it an API server drops them from new nodes only
		assert.Deep(t, "declared features", []string{"ExtendWebSocketsToKubelet", "InPlacePodLevelResourcesVerticalScaling", "InPlacePodVerticalScalingInitContainers", "RestartAllContainersOnContainerExits"}, node.Status.DeclaredFeatures)
	}
	out := assert.Get(plane.Kubectl(t.Context(), "", "get", "node", "join", "-o", "wide", "--no-headers")).Must(t)
	for _, want := range []string{"Ready", "v1.37.2+lifepod", "containerd://2.4.2"} {
		assert.True(t, strings.Contains(out, want), "kubectl get node shows %q, want %s in it", out, want)
	}
	lease := leaseOf(t, "join", func(*coordinationv1.Lease) bool { return true })
	want := []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: "join", UID: node.UID}}
	assert.Deep(t, "owner of the lease", want, lease.OwnerReferences)
}

// An agent that is started again finds its node, and nothing flips.
func TestStartAgain(t *testing.T) {
	first := run(t, "again", nil)
	before := await(t, "again", "Ready", isReady)
	first.stop()
	run(t, "again", func(c *register.Config) { c.Port = 10251 })
	after := await(t, "again", "the second agent's status", func(n *v1.Node) bool {
		return n.Status.DaemonEndpoints.KubeletEndpoint.Port == 10251
	})
	assert.True(t, after.UID == before.UID && machine.NodeReady(after).LastTransitionTime == machine.NodeReady(before).LastTransitionTime && isReady(after),
		"before %v, after %v", machine.NodeReady(before), machine.NodeReady(after))
}

// The runtime is lost and comes back.
func TestRuntimeLost(t *testing.T) {
	node := run(t, "lost", nil)
	await(t, "lost", "Ready", isReady)
	node.runtime.set(true)
	node.RuntimeChanged()
	got := machine.NodeReady(await(t, "lost", "not Ready", func(n *v1.Node) bool { return !isReady(n) }))
	assert.True(t, got.Reason == "KubeletNotReady" && got.Message == "container runtime is down", "Ready = %v", got)
	node.runtime.set(false)
	node.RuntimeChanged()
	await(t, "lost", "Ready again", isReady)
}

// The API server is away and comes back: lease and status follow, with what has
// happened meanwhile.
func TestAPIServerAway(t *testing.T) {
	node := run(t, "away", nil)
	await(t, "away", "Ready", isReady)
	before := leaseOf(t, "away", func(*coordinationv1.Lease) bool { return true })
	assert.Must(t, plane.StopAPIServer())
	node.runtime.set(true)
	node.RuntimeChanged()
	assert.Must(t, plane.StartAPIServer(t.Context()))
	back := time.Now()
	await(t, "away", "not Ready", func(n *v1.Node) bool { return !isReady(n) })
	t.Logf("status %v after the API server", time.Since(back).Round(time.Millisecond))
	leaseOf(t, "away", func(l *coordinationv1.Lease) bool { return l.Spec.RenewTime.After(before.Spec.RenewTime.Time) })
	t.Logf("lease %v after the API server", time.Since(back).Round(time.Millisecond))
}

// leaseOf watches a node's lease until it is as wanted.
func leaseOf(t *testing.T, name string, wanted func(*coordinationv1.Lease) bool) *coordinationv1.Lease {
	t.Helper()
	leases := newClient(t, plane.RESTConfig()).CoordinationV1().Leases("kube-node-lease")
	changes := assert.Get(leases.Watch(t.Context(), metav1.ListOptions{FieldSelector: "metadata.name=" + name})).Must(t)
	defer changes.Stop()
	timeout := time.After(patience)
	for {
		select {
		case change := <-changes.ResultChan():
			if lease, ok := change.Object.(*coordinationv1.Lease); ok && wanted(lease) {
				return lease
			}
		case <-timeout:
			t.Fatalf("lease of %s: waited in vain", name)
		}
	}
}
