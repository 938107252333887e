package csi

import (
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lifepod/lifepod/internal/assert"
)

// csinodeMachine is a node in a test.
type csinodeMachine struct {
	*Publisher
	*clusterAPI
	changes atomic.Int32 // how often it may have another answer whether the node can be Ready
}

// ownedBy is the CSINode of a Node, with one driver.
func ownedBy(uid types.UID) *storagev1.CSINode {
	return &storagev1.CSINode{
		ObjectMeta: metav1.ObjectMeta{Name: "n", OwnerReferences: []metav1.OwnerReference{{Kind: "Node", Name: "n", UID: uid}}},
		Spec:       storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{{Name: "before", NodeID: "x"}}},
	}
}

// csinodeNewMachine has a publisher that runs, with what the API has at its start.
func csinodeNewMachine(t *testing.T, objects ...runtime.Object) *csinodeMachine {
	t.Helper()
	m := &csinodeMachine{clusterAPI: newClusterAPI(t, objects)}
	m.Publisher = NewPublisher(m.client, "n", slog.New(slog.DiscardHandler))
	m.Initialized = func() { m.changes.Add(1) }
	assert.Runs(t, m.Run)
	return m
}

// create makes the Node, and lets the publisher know.
func (m *csinodeMachine) create(node *v1.Node) {
	m.t.Helper()
	assert.Must(m.t, assert.ErrorOf(m.client.CoreV1().Nodes().Create(m.t.Context(), node, metav1.CreateOptions{})))
	m.Heard(node)
}

// published waits until the API says what a driver does.
func (m *csinodeMachine) published(driver string, about *DriverOnNode) {
	m.t.Helper()
	select {
	case <-m.Want(driver, about).Done():
	case <-time.After(30 * time.Second):
		m.t.Fatalf("driver %s is not published", driver)
	}
}

const migratedPlugins = "kubernetes.io/aws-ebs,kubernetes.io/azure-disk,kubernetes.io/azure-file,kubernetes.io/cinder,kubernetes.io/gce-pd," +
	"kubernetes.io/portworx-volume,kubernetes.io/vsphere-volume"

// TestInitialized: the node is not Ready before it has a CSINode, which is the Node's own; with
// drivers it has what they say, and so has the Node (A-CSI-2).
func TestInitialized(t *testing.T) {
	m := csinodeNewMachine(t)
	var forbidden atomic.Bool
	forbidden.Store(true)
	m.fail("create", "csinodes", func() error {
		if forbidden.Load() {
			return errors.New("no")
		}
		return nil
	})
	wantNot := func(want string) {
		t.Helper()
		assert.Error(t, want, m.NotReady(), "A-CSI-2 not ready")
	}
	wantNot("CSINode is not yet initialized")
	m.create(csiTestNode("uid-1", map[string]string{"zone": "a"}))
	m.await("a failure", func() bool { return m.changes.Load() > 0 })
	wantNot("failed to initialize CSINode: no")
	forbidden.Store(false)
	m.await("a CSINode", func() bool { return m.NotReady() == nil })
	want := &storagev1.CSINode{
		ObjectMeta: metav1.ObjectMeta{
			Name: "n", Annotations: map[string]string{"storage.alpha.kubernetes.io/migrated-plugins": migratedPlugins},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: "n", UID: "uid-1"}},
		},
		Spec: storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{}},
	}
	assert.Deep(t, "A-CSI-2 CSINode", want, m.csiNode())
	m.published("b", &DriverOnNode{NodeID: "n-b", MaxVolumes: 1 << 40, Topology: map[string]string{"zone": "a", "rack": "7"}})
	m.published("a", &DriverOnNode{NodeID: "n-a", MaxVolumes: -1})
	m.published("b", &DriverOnNode{NodeID: "n-c", MaxVolumes: 1 << 40, Topology: map[string]string{"zone": "a", "rack": "7"}})
	want.Spec.Drivers = []storagev1.CSINodeDriver{
		{Name: "b", NodeID: "n-c", TopologyKeys: []string{"rack", "zone"}, Allocatable: &storagev1.VolumeNodeResources{Count: new(int32(1<<31 - 1))}},
		{Name: "a", NodeID: "n-a"},
	}
	assert.Deep(t, "A-CSI-2 CSINode", want, m.csiNode())
	assert.Deep(t, "A-CSI-2 labels", map[string]string{"zone": "a", "rack": "7"}, m.nodeObject().Labels)
	assert.Equal(t, `{"a":"n-a","b":"n-c"}`, m.nodeObject().Annotations["csi.volume.kubernetes.io/nodeid"], "A-CSI-2 node IDs")
	m.published("b", nil)
	m.published("a", nil)
	want.Spec.Drivers = []storagev1.CSINodeDriver{}
	assert.Deep(t, "A-CSI-2 CSINode", want, m.csiNode())
	node := m.nodeObject()
	_, has := node.Annotations["csi.volume.kubernetes.io/nodeid"]
	assert.True(t, !has && node.Labels["rack"] == "7", "A-CSI-2 without drivers: annotations %v, labels %v", node.Annotations, node.Labels)
}

// TestPatches: a node may write its Node's metadata by the status, and none of it twice.
func TestPatches(t *testing.T) {
	m := csinodeNewMachine(t)
	m.create(csiTestNode("uid-1", nil))
	about := &DriverOnNode{NodeID: "n-1", Topology: map[string]string{"zone": "a"}}
	m.published("d", about)
	m.published("d", about)
	writes := 0
	for _, action := range m.client.Actions() {
		if action.GetVerb() == "patch" || action.GetVerb() == "update" {
			writes++
		}
		assert.True(t, action.GetVerb() != "patch" || action.GetSubresource() == "status", "the Node itself was patched: %v", action)
	}
	assert.True(t, writes == 2, "%d writes, want one of the Node and one of the CSINode", writes)
}

// TestReadyBefore: the CSINode of a Node that is Ready is there from before (A-CSI-2).
func TestReadyBefore(t *testing.T) {
	node := csiTestNode("uid-1", nil)
	node.Status.Conditions = []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue}}
	m := csinodeNewMachine(t)
	m.fail("get", "csinodes", func() error { return errors.New("connection refused") })
	m.Heard(node)
	m.await("a try", func() bool { return len(m.client.Actions()) > 0 })
	assert.NoError(t, m.NotReady(), "A-CSI-2 not ready")
}

// TestFormerNode: the CSINode of a Node that was deleted is replaced, and drivers are told of anew
// of a Node that comes in its place (A-CSI-2).
func TestFormerNode(t *testing.T) {
	m := csinodeNewMachine(t, ownedBy("uid-0"))
	m.create(csiTestNode("uid-1", nil))
	m.await("a CSINode", func() bool { return m.NotReady() == nil })
	got := m.csiNode()
	assert.True(t, got.OwnerReferences[0].UID == "uid-1" && len(got.Spec.Drivers) == 0, "A-CSI-2 CSINode %v", got)
	m.published("d", &DriverOnNode{NodeID: "n-1", Topology: map[string]string{"zone": "a"}})
	assert.Must(t, m.client.CoreV1().Nodes().Delete(t.Context(), "n", metav1.DeleteOptions{}))
	m.create(csiTestNode("uid-2", nil))
	m.await("the driver on the new Node", func() bool {
		got := m.csiNode()
		return m.nodeObject().Labels["zone"] == "a" && got != nil && got.OwnerReferences[0].UID == "uid-2" && len(got.Spec.Drivers) == 1
	})
}

// TestDriversBefore: what an agent or a kubelet before has told of drivers stays (A-CSI-2).
func TestDriversBefore(t *testing.T) {
	m := csinodeNewMachine(t, ownedBy("uid-1"))
	m.create(csiTestNode("uid-1", nil))
	m.await("a CSINode", func() bool { return m.NotReady() == nil })
	got := m.csiNode()
	assert.True(t, len(got.Spec.Drivers) == 1 && got.Annotations[v1.MigratedPluginsAnnotationKey] == migratedPlugins, "A-CSI-2 CSINode %v", got)
}

// TestConflicts are tried anew (A-CSI-2).
func TestConflicts(t *testing.T) {
	m := csinodeNewMachine(t, ownedBy("uid-1"))
	var conflicts atomic.Int32
	m.fail("update", "csinodes", func() error {
		if conflicts.Add(1) > 3 {
			return nil
		}
		return apierrors.NewConflict(schema.GroupResource{Resource: "csinodes"}, "n", errors.New("changed"))
	})
	m.create(csiTestNode("uid-1", nil))
	m.await("an answer", func() bool { return m.changes.Load() > 0 })
	assert.NoError(t, m.NotReady(), "A-CSI-2 a conflict is a failure")
}

// TestRefused: what can't be is said to whoever has wished it (A-CSI-2).
func TestRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		node *v1.Node
		want string
	}{
		"other zone": {
			csiTestNode("uid-1", map[string]string{"zone": "b"}),
			`error updating Node object with CSI driver node info: detected topology value collision: driver reported "zone":"a" but existing label is "zone":"b"`,
		},
		"no JSON": {
			&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "uid-1", Annotations: map[string]string{nodeIDs: "x"}}},
			`error updating Node object with CSI driver node info: failed to parse node's "csi.volume.kubernetes.io/nodeid" annotation value ("x") ` +
				`err=invalid character 'x' looking for beginning of value`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := csinodeNewMachine(t)
			m.create(tc.node)
			wish := m.Want("d", &DriverOnNode{NodeID: "n-1", Topology: map[string]string{"zone": "a"}})
			err := <-wish.Refused()
			assert.True(t, err.Error() == tc.want, "A-CSI-2 error %v\nwant %s", err, tc.want)
			m.Want("d", nil)
			<-wish.Done() // somebody wishes otherwise
		})
	}
}
