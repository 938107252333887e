package register

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/version"
	clienttesting "k8s.io/client-go/testing"

	"github.com/lifepod/lifepod/internal/assert"
)

// What keeps a node from registering is tried again until it is gone; until
// then Node gives what is to be registered.
func TestRegistrationIsRetried(t *testing.T) {
	for name, err := range map[string]error{"no answer": errNoAnswer, "forbidden": errForbidden("nodes")} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, func(c *Config) { c.Labels = map[string]string{"a": "b"} })
				w.setAway(err)
				w.start()
				time.Sleep(time.Hour)
				node := w.node.Node()
				cpu := node.Status.Allocatable[v1.ResourceCPU]
				assert.True(t, node.Labels["a"] == "b" && cpu.Value() == 4, "Node() before registration: labels %v, cpu %s", node.Labels, cpu.String())
				w.setAway(nil)
				time.Sleep(4500 * time.Millisecond) // the longest wait and half of it
				assert.Equal(t, isReady, w.ready(), "Ready")
			})
		})
	}
}

// A node that may not create itself is made by somebody else, and found.
func TestMayNotCreate(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.client.PrependReactor("create", "nodes", func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, nil, errForbidden("nodes")
		})
		w.start()
		assert.Equal(t, isReady, w.ready(), "Ready")
	}, existingNode())
}

// An agent that starts again finds its Node as it has left it: Ready doesn't
// flip, no transition is new. After a reboot it says so, once.
func TestStartedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		existing := existingNode()
		began := metav1.NewTime(time.Now())
		existing.Status.NodeInfo.BootID = "boot before"
		existing.Status.Conditions = []v1.NodeCondition{
			{Type: v1.NodeNetworkUnavailable, Status: v1.ConditionFalse, Reason: "CalicoIsUp", LastHeartbeatTime: began, LastTransitionTime: began},
			{Type: v1.NodeReady, Status: v1.ConditionTrue, Reason: "KubeletReady", Message: "kubelet is posting ready status", LastTransitionTime: began},
		}
		time.Sleep(time.Hour)
		w := newWorld(t, nil, existing)
		w.start()
		node := w.fetch()
		assert.Deep(t, "a condition of somebody else", existing.Status.Conditions[0], node.Status.Conditions[0])
		ready := conditionOf(node, v1.NodeReady)
		if got := w.ready(); got != isReady || !ready.LastTransitionTime.Equal(&began) || !ready.LastHeartbeatTime.Time.Equal(time.Now()) {
			t.Errorf("Ready = %s since %v, heartbeat %v", got, ready.LastTransitionTime, ready.LastHeartbeatTime)
		}
		w.runtime.set(func(f *fakeRuntime) { f.network = false })
		w.node.RuntimeChanged()
		synctest.Wait()
		var reboots []string
		for _, e := range w.takeEvents() {
			if e == "Warning Rebooted: Node node-1 has been rebooted, boot id: boot" {
				reboots = append(reboots, e)
			}
		}
		assert.True(t, len(reboots) == 1, "told %d reboots, want 1", len(reboots))
	})
}

func TestSkew(t *testing.T) {
	own := version.MustParseGeneric(Version)
	at := func(offset int, rest string) string {
		return fmt.Sprintf("v%d.%d%s", own.Major(), int(own.Minor())+offset, rest)
	}
	for _, test := range []struct{ server, want string }{
		{Version, ""},
		{at(0, ".0-rc.1"), ""},
		{at(1, ".0"), ""},
		{at(mostOlder, ".0-gke.100"), ""},
		{at(mostOlder+1, ".0"), "at most 3 minor versions older"},
		{at(-1, ".3+k3s1"), "supports no node that is newer"},
		{"nonsense", "does not tell which version"},
	} {
		err := Skew(test.server)
		assert.True(t, (err == nil) == (test.want == "") && (err == nil || strings.Contains(err.Error(), test.want)),
			"API server %s, node %s: %v, want %q", test.server, Version, err, test.want)
		assert.True(t, err == nil || !strings.Contains(err.Error(), "k3s") && !strings.Contains(err.Error(), "nonsense"),
			"the API server's text is in the error: %v", err)
	}
}
