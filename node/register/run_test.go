package register

import (
	"context"
	"errors"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lifepod/lifepod/internal/assert"
)

const (
	isReady   = "True KubeletReady: kubelet is posting ready status"
	isDown    = "False KubeletNotReady: container runtime is down"
	noNetwork = "False KubeletNotReady: container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:Network plugin returns error: cni plugin not initialized"
)

func TestNewNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(c *Config) {
			c.Labels = map[string]string{"zone": "a"}
			c.Taints = []v1.Taint{{Key: "new", Effect: v1.TaintEffectNoSchedule}}
			c.ProviderID = "cloud://1"
		})
		w.start()
		node := w.fetch()
		wantMeta := metav1.ObjectMeta{
			Name: "node-1",
			Labels: map[string]string{
				"kubernetes.io/hostname": "node-1", "kubernetes.io/os": "linux", "kubernetes.io/arch": goarch,
				"beta.kubernetes.io/os": "linux", "beta.kubernetes.io/arch": goarch, "zone": "a",
			},
			Annotations: map[string]string{"volumes.kubernetes.io/controller-managed-attach-detach": "true"},
		}
		assert.Deep(t, "metadata", wantMeta, node.ObjectMeta)
		assert.Deep(t, "spec", v1.NodeSpec{ProviderID: "cloud://1", Taints: []v1.Taint{{Key: "new", Effect: v1.TaintEffectNoSchedule}}}, node.Spec)
		yes, no := true, false
		wantStatus := v1.NodeStatus{
			Addresses: []v1.NodeAddress{{Type: v1.NodeInternalIP, Address: "10.0.0.7"}, {Type: v1.NodeHostName, Address: "node-1"}},
			NodeInfo: v1.NodeSystemInfo{
				MachineID: "machine", SystemUUID: "system", BootID: "boot", KernelVersion: "6.12",
				OSImage: "Debian GNU/Linux 13 (trixie)", ContainerRuntimeVersion: "containerd://2.4.2",
				KubeletVersion: "v1.37.2+lifepod", OperatingSystem: "linux", Architecture: goarch,
				RunningInUserNamespace: &no,
			},
			DaemonEndpoints: v1.NodeDaemonEndpoints{KubeletEndpoint: v1.DaemonEndpoint{Port: 10250}},
			RuntimeHandlers: []v1.NodeRuntimeHandler{
				{Name: "", Features: &v1.NodeRuntimeHandlerFeatures{RecursiveReadOnlyMounts: &no, UserNamespaces: &no}},
				{Name: "runc", Features: &v1.NodeRuntimeHandlerFeatures{RecursiveReadOnlyMounts: &yes, UserNamespaces: &yes}},
			},
			Features:         &v1.NodeFeatures{SupplementalGroupsPolicy: &yes},
			DeclaredFeatures: []string{"ExtendWebSocketsToKubelet", "InPlacePodLevelResourcesVerticalScaling", "InPlacePodVerticalScalingInitContainers", "RestartAllContainersOnContainerExits"},
		}
		got := node.Status
		got.Capacity, got.Allocatable, got.Conditions, got.Images = nil, nil, nil, nil
		assert.Deep(t, "status", wantStatus, got)
		var conditions []string
		for _, c := range node.Status.Conditions {
			conditions = append(conditions, string(c.Type)+"="+string(c.Status)+" "+c.Reason+": "+c.Message)
			assert.True(t, !c.LastHeartbeatTime.IsZero() && !c.LastTransitionTime.IsZero(), "%s has no times", c.Type)
		}
		wantConditions := []string{
			"MemoryPressure=False KubeletHasSufficientMemory: kubelet has sufficient memory available",
			"DiskPressure=False KubeletHasNoDiskPressure: kubelet has no disk pressure",
			"PIDPressure=False KubeletHasSufficientPID: kubelet has sufficient PID available",
			"Ready=" + isReady,
		}
		assert.Deep(t, "conditions", wantConditions, conditions)
		wantEvents := []string{
			"Normal Starting: Starting kubelet.",
			"Normal NodeHasSufficientMemory: Node node-1 status is now: NodeHasSufficientMemory",
			"Normal NodeHasNoDiskPressure: Node node-1 status is now: NodeHasNoDiskPressure",
			"Normal NodeHasSufficientPID: Node node-1 status is now: NodeHasSufficientPID",
		}
		assert.Deep(t, "events", wantEvents, w.takeEvents())
	})
}

// A healthy node is quiet: the Lease every 10 s (B-LOST-1), the status only
// when its report is due.
func TestQuietNode(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.start()
		w.takeWrites()
		time.Sleep(140 * time.Second)
		got := w.takeWrites()
		assert.True(t, got["patch nodes/status"] == 0 && got["update leases"] >= 13 && got["update leases"] <= 15 && len(got) == 1,
			"writes in 140 s = %v, want no status and 14 leases", got)
		time.Sleep(7*time.Minute + 30*time.Second - 140*time.Second)
		if got := w.takeWrites()["patch nodes/status"]; got != 1 {
			t.Errorf("status written %d times in 7.5 min, want 1", got)
		}
		assert.Equal(t, isReady, w.ready(), "Ready")
	})
}

func TestLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(c *Config) { c.Timing.LeaseSeconds = 40 }, existingNode())
		w.start()
		lease := w.lease()
		assert.Deep(t, "owner", []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: "node-1", UID: "uid-1"}}, lease.OwnerReferences)
		assert.True(t, *lease.Spec.HolderIdentity == "node-1" && *lease.Spec.LeaseDurationSeconds == 40 && lease.Spec.RenewTime.Time.Equal(time.Now()),
			"lease = %v", lease.Spec)
	})
}

// While the node shuts down its Lease is renewed as before (B-E2E-12).
func TestLeaseOfAShutdown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(c *Config) {
			c.Senses.NotReady = func() error { return errors.New("node is shutting down") }
		}, existingNode())
		w.start()
		w.takeWrites()
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		assert.Equal(t, "False KubeletNotReady: node is shutting down", w.ready(), "Ready")
		renewed := w.takeWrites()["update leases"]
		assert.True(t, renewed >= 11, "in 2 minutes the Lease was renewed %d times, want every 10 s", renewed)
	})
}

// A Lease that an agent before has left is renewed at once, and its Node's conditions as
// soon as the runtime has reported its status (B-LOST-1); a new Lease comes with its Node.
func TestLeaseAtTheStart(t *testing.T) {
	before := func() *coordinationv1.Lease {
		owner := metav1.OwnerReference{APIVersion: "v1", Kind: "Node", Name: "node-1", UID: "uid-1"}
		return &coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Namespace: "kube-node-lease", Name: "node-1", OwnerReferences: []metav1.OwnerReference{owner}},
			Spec:       coordinationv1.LeaseSpec{RenewTime: &metav1.MicroTime{Time: time.Now().Add(-30 * time.Second)}},
		}
	}
	inWorld(t, func(t *testing.T, w *world) {
		w.runtime.hangs = true
		w.start()
		got := w.lease().Spec.RenewTime
		assert.True(t, got.Time.Equal(time.Now()), "the Lease was renewed at %v, want now, %v", got, time.Now())
		time.Sleep(askTimeout)
		synctest.Wait()
		ready := conditionOf(w.fetch(), v1.NodeReady)
		assert.True(t, ready != nil && ready.LastHeartbeatTime.Time.Equal(time.Now()),
			"Ready of a runtime that hangs: %v, want a heartbeat of now, %v", ready, time.Now())
	}, existingNode(), before())
	inWorld(t, func(t *testing.T, w *world) {
		w.away = errNoAnswer
		w.start()
		time.Sleep(20 * time.Second)
		w.mu.Lock()
		w.away = nil
		w.mu.Unlock()
		time.Sleep(3 * time.Second)
		synctest.Wait()
		lease := w.lease()
		assert.True(t, lease != nil && lease.OwnerReferences[0].Name == "node-1", "3 s after the API server came the Lease of a new Node is %v", lease)
	})
}

// The runtime is lost and comes back: the node says so at once, with the time of
// the transition and an event, and goes on knowing its images and version.
func TestRuntimeLost(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.runtime.images = []*runtimeImage{{Id: "1", RepoTags: []string{"a:1"}, Size: 7}}
		w.start()
		w.takeEvents()
		time.Sleep(time.Minute)
		w.runtime.set(func(f *fakeRuntime) { f.down = errUnavailable })
		w.node.RuntimeChanged()
		synctest.Wait()
		assert.Equal(t, isDown, w.ready(), "Ready without a runtime")
		node := w.fetch()
		got := conditionOf(node, v1.NodeReady).LastTransitionTime
		assert.True(t, got.Time.Equal(time.Now()), "transition at %v, now is %v", got, time.Now())
		assert.True(t, len(node.Status.Images) == 1 && node.Status.NodeInfo.ContainerRuntimeVersion == "containerd://2.4.2",
			"images %v, version %q", node.Status.Images, node.Status.NodeInfo.ContainerRuntimeVersion)
		w.runtime.set(func(f *fakeRuntime) { f.down = nil })
		time.Sleep(time.Second)
		synctest.Wait()
		assert.Equal(t, isReady, w.ready(), "Ready with the runtime back, a second later")
		want := []string{
			"Normal NodeNotReady: Node node-1 status is now: NodeNotReady",
			"Normal NodeReady: Node node-1 status is now: NodeReady",
		}
		assert.Deep(t, "events", want, w.takeEvents())
	})
}

// A runtime that is only slow has the kubelet's 30 s; one that cannot be reached
// has RuntimeGrace.
func TestRuntimeGrace(t *testing.T) {
	for _, tt := range []struct {
		name    string
		err     error
		grace   time.Duration
		forgive time.Duration
	}{
		{"slow", errSlow, 0, 30 * time.Second},
		{"unreachable", errUnavailable, 5 * time.Second, 5 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, func(c *Config) { c.Timing.RuntimeGrace = tt.grace })
				w.start()
				w.runtime.set(func(f *fakeRuntime) { f.down = tt.err })
				w.node.RuntimeChanged()
				time.Sleep(tt.forgive - time.Millisecond)
				synctest.Wait()
				assert.Equal(t, isReady, w.ready(), "Ready within the grace")
				time.Sleep(time.Millisecond)
				synctest.Wait()
				assert.Equal(t, isDown, w.ready(), "Ready after the grace")
			})
		})
	}
}

// A node is registered before its network is there, and Ready within a second
// after it is, which nobody announces.
func TestNetworkComesLater(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.runtime.network = false
		w.start()
		assert.Equal(t, noNetwork, w.ready(), "Ready without a network")
		time.Sleep(20 * time.Second)
		w.runtime.set(func(f *fakeRuntime) { f.network = true })
		time.Sleep(time.Second)
		synctest.Wait()
		assert.Equal(t, isReady, w.ready(), "Ready with the network")
	})
}

func TestRuntimeNeverThere(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.runtime.down = errUnavailable
		w.start()
		want := "False KubeletNotReady: [container runtime status check may not have completed yet, network state unknown]"
		assert.Equal(t, want, w.ready(), "Ready")
	})
}

func TestImagesChanged(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.start()
		w.runtime.set(func(f *fakeRuntime) {
			f.images = []*runtimeImage{{Id: "1", RepoTags: []string{"a:1"}, RepoDigests: []string{"a@sha256:1"}, Size: 7}}
		})
		w.node.ImagesChanged()
		synctest.Wait()
		assert.Deep(t, "images", []v1.ContainerImage{{Names: []string{"a@sha256:1", "a:1"}, SizeBytes: 7}}, w.fetch().Status.Images)
	})
}

// TestAddressed: whoever depends on the node's addresses, such as its serving
// certificate, hears of other ones as soon as the API does.
func TestAddressed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		has, shown := "10.0.0.7", ""
		w := newWorld(t, func(c *Config) {
			c.Senses.Addressed = func(addresses []v1.NodeAddress) {
				mu.Lock()
				defer mu.Unlock()
				shown = addresses[0].Address
			}
		})
		w.node.addresses.gateway = func(net.IP) (net.IP, error) {
			mu.Lock()
			defer mu.Unlock()
			return net.ParseIP(has), nil
		}
		w.start()
		for _, want := range []string{"10.0.0.7", "10.0.0.8"} {
			mu.Lock()
			has = want
			mu.Unlock()
			time.Sleep(addressesEvery + 10*time.Second)
			synctest.Wait()
			mu.Lock()
			got := w.fetch().Status.Addresses[0].Address
			assert.True(t, shown == want && got == want, "told %s, and the API %s; want %s", shown, got, want)
			mu.Unlock()
		}
	})
}

func TestPressure(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.start()
		w.takeEvents()
		w.mu.Lock()
		w.under[v1.NodeDiskPressure] = true
		w.mu.Unlock()
		w.node.Changed()
		synctest.Wait()
		c := conditionOf(w.fetch(), v1.NodeDiskPressure)
		assert.True(t, c.Status == v1.ConditionTrue && c.Reason == "KubeletHasDiskPressure" && c.Message == "kubelet has disk pressure", "DiskPressure = %v", c)
		assert.Deep(t, "events", []string{"Normal NodeHasDiskPressure: Node node-1 status is now: NodeHasDiskPressure"}, w.takeEvents())
	})
}

// What the node controller writes about a node that it has missed (B-LOST-2) is
// put right at once; a cordon is reported.
func TestChangedByOthers(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.start()
		w.takeEvents()
		w.edit(func(node *v1.Node) {
			for i := range node.Status.Conditions {
				c := &node.Status.Conditions[i]
				c.Status, c.Reason, c.Message = v1.ConditionUnknown, "NodeStatusUnknown", "Kubelet stopped posting node status."
			}
			node.Spec.Unschedulable = true
			node.Spec.PodCIDR = "10.244.0.0/24"
		})
		assert.Equal(t, isReady, w.ready(), "Ready")
		node := w.fetch()
		assert.True(t, node.Spec.Unschedulable && node.Spec.PodCIDR == "10.244.0.0/24", "the spec is not the node's to change: %v", node.Spec)
		assert.Equal(t, "10.244.0.0/24", w.node.Node().Spec.PodCIDR, "Node() has podCIDR")
		want := []string{
			"Normal NodeNotSchedulable: Node node-1 status is now: NodeNotSchedulable",
			"Normal NodeHasSufficientMemory: Node node-1 status is now: NodeHasSufficientMemory",
			"Normal NodeHasNoDiskPressure: Node node-1 status is now: NodeHasNoDiskPressure",
			"Normal NodeHasSufficientPID: Node node-1 status is now: NodeHasSufficientPID",
			"Normal NodeReady: Node node-1 status is now: NodeReady",
		}
		assert.Deep(t, "events", want, w.takeEvents())
	})
}

// TestAddressesFoundOnce: what was found right before a node is registered is not looked for
// again, which could take the time of a DNS query that has no answer.
func TestAddressesFoundOnce(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		lookups := 0
		w.node.addresses.lookup = func(context.Context, string, string) ([]net.IP, error) {
			lookups++
			return nil, errors.New("no such host")
		}
		assert.Must(t, assert.ErrorOf(w.node.Addresses(t.Context())))
		w.start()
		got := w.fetch().Status.Addresses
		assert.True(t, lookups == 1 && len(got) == 2, "%d lookups, and the Node has %v", lookups, got)
		time.Sleep(addressesEvery + time.Minute) // of the world's clock
		synctest.Wait()
		assert.True(t, lookups >= 2, "addresses are not looked for any more")
	})
}
