package localvolume

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"testing"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	fakedynamic "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/workqueue"

	"github.com/lifepod/lifepod/cluster/reclaim"
	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/node/localdriver"
)

// nodes are real drivers, by the names of their nodes.
type nodes map[string]csi.ControllerClient

func (n nodes) On(node string) (csi.ControllerClient, error) {
	driver, ok := n[node]
	if !ok {
		return nil, fmt.Errorf("node %s is not in the cluster: its volumes can't be reached", node)
	}
	return driver, nil
}

func (n nodes) Holding(id string) (csi.ControllerClient, error) {
	node, err := localdriver.NodeOf(id)
	if err != nil {
		return nil, err
	}
	return n.On(node)
}

func newDriver(t *testing.T, node string) csi.ControllerClient {
	t.Helper()
	driver := assert.Get(localdriver.New(localdriver.Config{Dir: t.TempDir(), Node: node, Version: "test", Log: slog.New(slog.DiscardHandler)})).Must(t)
	server, listener := grpc.NewServer(), bufconn.Listen(1<<20)
	csi.RegisterControllerServer(server, driver)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	conn := assert.Get(grpc.NewClient("passthrough:///"+node, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }))).Must(t)
	return csi.NewControllerClient(conn)
}

// scene is a controller with the nodes n1 and n2, whose informers know what the test has given
// them.
type scene struct {
	*controller
	client *fake.Clientset
	events *record.FakeRecorder
	shared informers.SharedInformerFactory
}

func newScene(t *testing.T, objects ...runtime.Object) scene {
	t.Helper()
	client := fake.NewClientset()
	shared := informers.NewSharedInformerFactory(client, 0)
	events := record.NewFakeRecorder(20)
	core, storage := shared.Core().V1(), shared.Storage().V1()
	s := scene{client: client, events: events, shared: shared, controller: &controller{
		Config:  Config{Client: client, Informers: shared, Log: slog.New(slog.DiscardHandler)},
		drivers: nodes{"n1": newDriver(t, "n1"), "n2": newDriver(t, "n2")},
		claims:  core.PersistentVolumeClaims().Lister(), volumes: core.PersistentVolumes().Lister(),
		classes: storage.StorageClasses().Lister(), csiNodes: storage.CSINodes().Lister(), recorder: events, measure: make(chan struct{}, 1),
		queue: workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[item](retryFirst, retryMost)),
	}}
	for _, name := range []string{"n1", "n2", "other"} {
		n := &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if name != "other" {
			n.Spec.Drivers = []storagev1.CSINodeDriver{{Name: localdriver.Name, NodeID: name}}
		}
		s.know(t, n, &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{v1.LabelHostname: name}}})
	}
	s.know(t, class())
	var custom []runtime.Object
	for _, object := range objects {
		if u, ok := object.(*unstructured.Unstructured); ok {
			custom = append(custom, u)
		} else {
			s.know(t, object)
		}
	}
	s.Dynamic = fakedynamic.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{
		snapshots: "VolumeSnapshotList", contents: "VolumeSnapshotContentList",
	}, custom...)
	return s
}

// know tells the API and the informers of objects.
func (s scene) know(t *testing.T, objects ...runtime.Object) {
	t.Helper()
	for _, object := range objects {
		if err := s.client.Tracker().Add(object); err != nil && !apierrors.IsAlreadyExists(err) {
			t.Fatal(err)
		}
		var err error
		switch object.(type) {
		case *v1.PersistentVolumeClaim:
			err = s.shared.Core().V1().PersistentVolumeClaims().Informer().GetStore().Update(object)
		case *v1.PersistentVolume:
			err = s.shared.Core().V1().PersistentVolumes().Informer().GetStore().Update(object)
		case *v1.Node:
			err = s.shared.Core().V1().Nodes().Informer().GetStore().Update(object)
		case *storagev1.StorageClass:
			err = s.shared.Storage().V1().StorageClasses().Informer().GetStore().Update(object)
		case *storagev1.CSINode:
			err = s.shared.Storage().V1().CSINodes().Informer().GetStore().Update(object)
		default:
			t.Fatalf("%T", object)
		}
		assert.Must(t, err)
	}
}

func (s scene) event() string {
	select {
	case e := <-s.events.Events:
		return e
	default:
		return ""
	}
}

// volume is the PersistentVolume of a claim, which the informers know from now on.
func (s scene) volume(t *testing.T, name string) *v1.PersistentVolume {
	t.Helper()
	v := assert.Get(s.client.CoreV1().PersistentVolumes().Get(t.Context(), name, metav1.GetOptions{})).Must(t)
	s.know(t, v)
	return v
}

func (s scene) claim(t *testing.T, name string) *v1.PersistentVolumeClaim {
	t.Helper()
	c := assert.Get(s.client.CoreV1().PersistentVolumeClaims("shop").Get(t.Context(), name, metav1.GetOptions{})).Must(t)
	return c
}

func newClaim(change func(*v1.PersistentVolumeClaim)) *v1.PersistentVolumeClaim {
	claim := &v1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "data", UID: "u1", Annotations: map[string]string{storageProvisioner: localdriver.Name, selectedNode: "n1"}},
		Spec: v1.PersistentVolumeClaimSpec{
			StorageClassName: new(ClassName), VolumeMode: new(v1.PersistentVolumeFilesystem), AccessModes: []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce},
			Resources: v1.VolumeResourceRequirements{Requests: v1.ResourceList{v1.ResourceStorage: resource.MustParse("32Mi")}},
		},
	}
	if change != nil {
		change(claim)
	}
	return claim
}

// bound binds a claim to the volume that it got.
func (s scene) bound(t *testing.T, claim *v1.PersistentVolumeClaim) *v1.PersistentVolumeClaim {
	t.Helper()
	volume := s.volume(t, "pvc-"+string(claim.UID))
	claim = claim.DeepCopy()
	claim.Spec.VolumeName, claim.Status.Phase, claim.Status.Capacity = volume.Name, v1.ClaimBound, volume.Spec.Capacity.DeepCopy()
	assert.Must(t, assert.ErrorOf(s.client.CoreV1().PersistentVolumeClaims(claim.Namespace).Update(t.Context(), claim, metav1.UpdateOptions{})))
	s.know(t, claim)
	return claim
}

func TestClaimGetsVolume(t *testing.T) {
	s := newScene(t, newClaim(nil))
	assert.Must(t, s.sync(t.Context(), item{"shop", "data"}))
	want := v1.PersistentVolumeSpec{
		Capacity:                      v1.ResourceList{v1.ResourceStorage: resource.MustParse("32Mi")},
		PersistentVolumeSource:        v1.PersistentVolumeSource{CSI: &v1.CSIPersistentVolumeSource{Driver: localdriver.Name, VolumeHandle: "n1:pvc-u1", FSType: "ext4"}},
		AccessModes:                   []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce},
		ClaimRef:                      &v1.ObjectReference{Kind: "PersistentVolumeClaim", APIVersion: "v1", Namespace: "shop", Name: "data", UID: "u1"},
		PersistentVolumeReclaimPolicy: v1.PersistentVolumeReclaimDelete,
		StorageClassName:              "local",
		VolumeMode:                    new(v1.PersistentVolumeFilesystem),
		NodeAffinity: &v1.VolumeNodeAffinity{Required: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{
			MatchExpressions: []v1.NodeSelectorRequirement{{Key: "topology.local.csi.lifepod.dev/node", Operator: v1.NodeSelectorOpIn, Values: []string{"n1"}}},
		}}}},
	}
	got := s.volume(t, "pvc-u1")
	assert.Deep(t, "volume", want, got.Spec)
	assert.Deep(t, "finalizers", []string{reclaim.Finalizer}, got.Finalizers)
	assert.Deep(t, "event", "Normal ProvisioningSucceeded Successfully provisioned volume pvc-u1", s.event())
	// Once more, as if the binder had not seen it yet: nothing happens.
	err := s.sync(t.Context(), item{"shop", "data"})
	assert.True(t, err == nil && s.event() == "", "err %v or an event", err)
}

func TestClaimIsRefused(t *testing.T) {
	group := snapshotGroup
	source := func(group *string, kind, name string) func(c *v1.PersistentVolumeClaim) {
		return func(c *v1.PersistentVolumeClaim) {
			c.Spec.DataSourceRef = &v1.TypedObjectReference{APIGroup: group, Kind: kind, Name: name}
		}
	}
	for name, c := range map[string]struct {
		change func(*v1.PersistentVolumeClaim)
		want   string
	}{
		"many":        {func(c *v1.PersistentVolumeClaim) { c.Spec.AccessModes[0] = v1.ReadWriteMany }, "a local volume is on one node"},
		"selector":    {func(c *v1.PersistentVolumeClaim) { c.Spec.Selector = &metav1.LabelSelector{} }, "a selector is not supported"},
		"attributes":  {func(c *v1.PersistentVolumeClaim) { c.Spec.VolumeAttributesClassName = new("fast") }, "volumeAttributesClassName is not supported"},
		"no source":   {source(nil, "PersistentVolumeClaim", "missing"), `"missing" not found`},
		"no snapshot": {source(&group, "VolumeSnapshot", "missing"), `"missing" not found`},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, newClaim(c.change))
			assert.Fails(t, s.sync(t.Context(), item{"shop", "data"}), "no error, so that it is not tried again")
			if got := s.event(); !strings.HasPrefix(got, `Warning ProvisioningFailed failed to provision volume with StorageClass "local": `) || !strings.Contains(got, c.want) {
				t.Errorf("event %q, want %q", got, c.want)
			}
		})
	}
}

// What the selected node can't have, the scheduler chooses again: a volume larger than its disk,
// or of a node without the driver.
func TestSchedulerChoosesAgain(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*v1.PersistentVolumeClaim)
		want   string
	}{
		"too large": {func(c *v1.PersistentVolumeClaim) {
			c.Spec.Resources.Requests[v1.ResourceStorage] = resource.MustParse("1Ei")
		}, "node n1: "},
		"without driver": {func(c *v1.PersistentVolumeClaim) { c.Annotations[selectedNode] = "other" }, "node other was selected, which does not run the driver"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, newClaim(c.change))
			assert.Must(t, s.sync(t.Context(), item{"shop", "data"}))
			got := s.event()
			assert.True(t, strings.Contains(got, c.want), "event %q, want %q", got, c.want)
			assert.Deep(t, "selected node", "", s.claim(t, "data").Annotations[selectedNode])
		})
	}
}

func TestClaimThatIsNotOurs(t *testing.T) {
	for name, change := range map[string]func(*v1.PersistentVolumeClaim){
		"of another provisioner": func(c *v1.PersistentVolumeClaim) { c.Annotations[storageProvisioner] = "other" },
		"not scheduled":          func(c *v1.PersistentVolumeClaim) { delete(c.Annotations, selectedNode) },
		"being deleted":          func(c *v1.PersistentVolumeClaim) { c.DeletionTimestamp = &metav1.Time{}; c.Finalizers = []string{"f"} },
		"of a populator": func(c *v1.PersistentVolumeClaim) {
			c.Spec.DataSourceRef = &v1.TypedObjectReference{APIGroup: new("example.com"), Kind: "Backup", Name: "b"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, newClaim(change))
			err := s.sync(t.Context(), item{"shop", "data"})
			assert.True(t, err == nil && s.event() == "", "err %v or an event, want neither", err)
		})
	}
}

// A class that binds at once has its volumes where most room is, of the nodes that it allows.
func TestImmediateBinding(t *testing.T) {
	at := class()
	at.Name, at.VolumeBindingMode = "at-once", new(storagev1.VolumeBindingImmediate)
	at.AllowedTopologies = []v1.TopologySelectorTerm{{MatchLabelExpressions: []v1.TopologySelectorLabelRequirement{{Key: v1.LabelHostname, Values: []string{"n2", "other"}}}}}
	claim := newClaim(func(c *v1.PersistentVolumeClaim) {
		delete(c.Annotations, selectedNode)
		c.Spec.StorageClassName = new("at-once")
	})
	s := newScene(t, at, claim)
	assert.Must(t, s.sync(t.Context(), item{"shop", "data"}))
	got := s.volume(t, "pvc-u1").Spec.CSI.VolumeHandle
	assert.True(t, got == "n2:pvc-u1", "volume %s, want it on n2", got)
}

// A copy is made where its source is. If the scheduler has selected another node, the claim's event says so, and the
// annotation names the right one.
func TestCopies(t *testing.T) {
	first := newClaim(nil)
	s := newScene(t, first)
	assert.Must(t, s.sync(t.Context(), item{"shop", "data"}))
	s.bound(t, first)
	taken := assert.Get(s.drivers.(nodes)["n1"].CreateSnapshot(t.Context(), &csi.CreateSnapshotRequest{Name: "s", SourceVolumeId: "n1:pvc-u1"})).Must(t)
	s.Dynamic = fakedynamic.NewSimpleDynamicClient(runtime.NewScheme(),
		&unstructured.Unstructured{Object: map[string]any{
			"apiVersion": snapshotGroup + "/v1", "kind": "VolumeSnapshot", "metadata": map[string]any{"namespace": "shop", "name": "s", "uid": "us"},
			"status": map[string]any{"readyToUse": true, "boundVolumeSnapshotContentName": "content", "restoreSize": "32Mi"},
		}},
		&unstructured.Unstructured{Object: map[string]any{
			"apiVersion": snapshotGroup + "/v1", "kind": "VolumeSnapshotContent", "metadata": map[string]any{"name": "content"},
			"spec":   map[string]any{"driver": localdriver.Name, "volumeSnapshotRef": map[string]any{"uid": "us"}},
			"status": map[string]any{"snapshotHandle": taken.GetSnapshot().GetSnapshotId()},
		}})
	group := snapshotGroup
	for name, ref := range map[string]*v1.TypedObjectReference{
		"clone": {Kind: "PersistentVolumeClaim", Name: "data"}, "restored": {APIGroup: &group, Kind: "VolumeSnapshot", Name: "s"},
	} {
		t.Run(name, func(t *testing.T) {
			claim := newClaim(func(c *v1.PersistentVolumeClaim) {
				c.Name, c.UID, c.Spec.DataSourceRef = name, types.UID(name), ref
				c.Annotations[selectedNode] = "n2"
			})
			s.know(t, claim)
			s.event() // of the source
			assert.Must(t, s.sync(t.Context(), item{"shop", name}))
			if got := s.event(); !strings.Contains(got, "ProvisioningFailed") || !strings.Contains(got, "node n2 was selected, but the source of the volume is on node n1") || !strings.Contains(got, "have the pod run on node n1") {
				t.Errorf("event %q", got)
			}
			claim = s.claim(t, name)
			if got := claim.Annotations[selectedNode]; got != "n1" {
				t.Fatalf("selected node %q, want n1", got)
			}
			s.know(t, claim)
			assert.Must(t, s.sync(t.Context(), item{"shop", name}))
			v := s.volume(t, "pvc-"+name)
			got := v.Spec.CSI.VolumeHandle
			assert.True(t, got == "n1:pvc-"+name, "volume %s, want it on the node of its source", got)
			if got := v.Spec.NodeAffinity.Required.NodeSelectorTerms[0].MatchExpressions[0].Values; len(got) != 1 || got[0] != "n1" {
				t.Errorf("its pods are to be on %q", got)
			}
			small := newClaim(func(c *v1.PersistentVolumeClaim) {
				c.Name, c.UID, c.Spec.DataSourceRef = "small", "small", ref
				c.Spec.Resources.Requests[v1.ResourceStorage] = resource.MustParse("16Mi")
			})
			s.know(t, small)
			s.event()
			assert.ErrorContains(t, "16Mi are claimed, but the source of the volume", s.sync(t.Context(), item{"shop", "small"}), "a smaller one")
			s.event()
		})
	}
}

// A class that allows no volumes on the node of the source has no copies of it.
func TestCopyOutsideAllowedTopologies(t *testing.T) {
	first := newClaim(nil)
	limited := class()
	limited.Name = "limited"
	limited.AllowedTopologies = []v1.TopologySelectorTerm{{MatchLabelExpressions: []v1.TopologySelectorLabelRequirement{{Key: v1.LabelHostname, Values: []string{"n2"}}}}}
	s := newScene(t, limited, first)
	assert.Must(t, s.sync(t.Context(), item{"shop", "data"}))
	s.bound(t, first)
	s.event() // of the source
	s.know(t, newClaim(func(c *v1.PersistentVolumeClaim) {
		c.Name, c.UID, c.Spec.StorageClassName = "clone", "u2", new("limited")
		c.Spec.DataSourceRef = &v1.TypedObjectReference{Kind: "PersistentVolumeClaim", Name: "data"}
		c.Annotations[selectedNode] = "n2"
	}))
	assert.Fails(t, s.sync(t.Context(), item{"shop", "clone"}), "no error, so that it is not tried again")
	got := s.event()
	assert.True(t, strings.Contains(got, "is on node n1, which the allowedTopologies of the StorageClass leave out"), "event %q", got)
}

// A volume grows with its claim: the driver's, the PersistentVolume, and then it is the node's turn.
func TestExpansion(t *testing.T) {
	s := newScene(t, newClaim(nil))
	assert.Must(t, s.sync(t.Context(), item{"shop", "data"}))
	claim := s.bound(t, newClaim(func(c *v1.PersistentVolumeClaim) {
		c.Spec.Resources.Requests[v1.ResourceStorage] = resource.MustParse("64Mi")
	}))
	s.event()
	assert.Must(t, s.sync(t.Context(), item{"shop", "data"}))
	got := s.volume(t, "pvc-u1").Spec.Capacity.Storage()
	assert.True(t, got.String() == "64Mi", "capacity of the volume %s, want 64Mi", got)
	claim = s.claim(t, claim.Name)
	assert.Deep(t, "status", v1.PersistentVolumeClaimNodeResizePending, claim.Status.AllocatedResourceStatuses[v1.ResourceStorage])
	assert.Deep(t, "allocated", "64Mi", claim.Status.AllocatedResources.Storage().String())
	assert.True(t, len(claim.Status.Conditions) == 1 && claim.Status.Conditions[0].Type == v1.PersistentVolumeClaimFileSystemResizePending,
		"conditions %v", claim.Status.Conditions)
	for _, want := range []string{"Normal Resizing External resizer is resizing volume pvc-u1", "Normal FileSystemResizeRequired Require file system resize of volume on node"} {
		assert.Deep(t, "event", want, s.event())
	}
	s.know(t, claim) // it is the node's turn: nothing happens
	err := s.sync(t.Context(), item{"shop", "data"})
	assert.True(t, err == nil && s.event() == "", "err %v or an event", err)
}

// What is too much may be taken back (KEP-1790).
func TestExpansionThatIsTakenBack(t *testing.T) {
	s := newScene(t, newClaim(nil))
	assert.Must(t, s.sync(t.Context(), item{"shop", "data"}))
	s.event()
	s.bound(t, newClaim(func(c *v1.PersistentVolumeClaim) {
		c.Spec.Resources.Requests[v1.ResourceStorage] = resource.MustParse("1Ei")
	}))
	assert.Fails(t, s.sync(t.Context(), item{"shop", "data"}), "no error")
	got := s.event()
	assert.True(t, strings.HasPrefix(got, "Normal Resizing"), "event %q", got)
	got = s.event()
	assert.True(t, strings.HasPrefix(got, `Warning VolumeResizeFailed resize volume "pvc-u1": `), "event %q", got)
	claim := s.claim(t, "data")
	assert.Deep(t, "status", v1.PersistentVolumeClaimControllerResizeInfeasible, claim.Status.AllocatedResourceStatuses[v1.ResourceStorage])
	claim.Spec.Resources.Requests[v1.ResourceStorage] = resource.MustParse("48Mi")
	s.know(t, claim)
	assert.Must(t, assert.ErrorOf(s.client.CoreV1().PersistentVolumeClaims("shop").Update(t.Context(), claim, metav1.UpdateOptions{})))
	assert.Must(t, s.sync(t.Context(), item{"shop", "data"}))
	if got := s.volume(t, "pvc-u1").Spec.Capacity.Storage(); got.String() != "48Mi" {
		t.Errorf("capacity of the volume %s, want 48Mi", got)
	}
}

func TestReleasedVolumeIsDeleted(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*v1.PersistentVolume)
		stays  bool
	}{
		"deleted":          {func(*v1.PersistentVolume) {}, false},
		"bound":            {func(v *v1.PersistentVolume) { v.Status.Phase = v1.VolumeBound }, true},
		"of another maker": {func(v *v1.PersistentVolume) { v.Annotations[reclaim.ProvisionedBy] = "admin" }, true},
		"retained": {func(v *v1.PersistentVolume) {
			v.Spec.PersistentVolumeReclaimPolicy, v.Finalizers = v1.PersistentVolumeReclaimRetain, nil
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, newClaim(nil))
			assert.Must(t, s.sync(t.Context(), item{"shop", "data"}))
			volume := s.volume(t, "pvc-u1")
			volume.Status.Phase = v1.VolumeReleased
			c.change(volume)
			assert.Must(t, assert.ErrorOf(s.client.CoreV1().PersistentVolumes().Update(t.Context(), volume, metav1.UpdateOptions{})))
			s.know(t, volume)
			assert.Must(t, s.sync(t.Context(), item{name: "pvc-u1"}))
			_, err := s.client.CoreV1().PersistentVolumes().Get(t.Context(), "pvc-u1", metav1.GetOptions{})
			there := !apierrors.IsNotFound(err)
			assert.True(t, there == c.stays, "PersistentVolume is there: %v (%v)", there, err)
			list, err := s.drivers.(nodes)["n1"].ListVolumes(t.Context(), &csi.ListVolumesRequest{})
			there = len(list.GetEntries()) == 1
			assert.True(t, err == nil && there == c.stays, "the driver has it: %v (%v)", there, err)
		})
	}
}

// The scheduler knows the room of each node with the driver, of each class, and no longer that of a
// class that has gone.
func TestCapacities(t *testing.T) {
	s := newScene(t)
	gone := &storagev1.CSIStorageCapacity{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "gone.n1", Labels: map[string]string{capacityLabel: localdriver.Name}}, Capacity: new(resource.MustParse("1Gi"))}
	assert.Must(t, s.client.Tracker().Add(gone))
	for range 2 {
		assert.Must(t, s.publish(t.Context()))
	}
	list := assert.Get(s.client.StorageV1().CSIStorageCapacities("").List(t.Context(), metav1.ListOptions{})).Must(t)
	var got []string
	for _, c := range list.Items {
		assert.True(t, c.Capacity.Value() > 0, "%s has %s", c.Name, c.Capacity)
		got = append(got, fmt.Sprintf("%s %s %v", c.Name, c.StorageClassName, c.NodeTopology.MatchLabels))
	}
	want := []string{
		"local.n1 local map[topology.local.csi.lifepod.dev/node:n1]",
		"local.n2 local map[topology.local.csi.lifepod.dev/node:n2]",
	}
	assert.Deep(t, "capacities", want, got)
}

// The class of a lifepod whose volumes were folders gets the driver, and what people have said of it
// stays.
func TestClassOfFoldersIsReplaced(t *testing.T) {
	old := class()
	old.Provisioner, old.ReclaimPolicy, old.AllowVolumeExpansion = Folders, new(v1.PersistentVolumeReclaimRetain), new(false)
	old.Annotations = map[string]string{isDefault: "false"}
	client := fake.NewClientset(old)
	for range 2 {
		assert.Must(t, ensureObjects(t.Context(), client))
	}
	want := class()
	want.ReclaimPolicy, want.Annotations = old.ReclaimPolicy, old.Annotations
	got := assert.Get(client.StorageV1().StorageClasses().Get(t.Context(), ClassName, metav1.GetOptions{})).Must(t)
	got.ManagedFields, want.TypeMeta = nil, got.TypeMeta
	assert.Deep(t, "class", want, got)
}
