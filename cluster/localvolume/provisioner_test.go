package localvolume

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/record"
)

// scene is a provisioner whose informers know what the test has given them.
type scene struct {
	*provisioner
	client *fake.Clientset
	events *record.FakeRecorder
}

func newScene(t *testing.T, objects ...runtime.Object) scene {
	t.Helper()
	client := fake.NewClientset(objects...)
	shared := informers.NewSharedInformerFactory(client, 0)
	for _, object := range objects {
		var err error
		switch o := object.(type) {
		case *v1.PersistentVolumeClaim:
			err = shared.Core().V1().PersistentVolumeClaims().Informer().GetStore().Add(o)
		case *v1.PersistentVolume:
			err = shared.Core().V1().PersistentVolumes().Informer().GetStore().Add(o)
		case *storagev1.StorageClass:
			err = shared.Storage().V1().StorageClasses().Informer().GetStore().Add(o)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	events := record.NewFakeRecorder(10)
	return scene{client: client, events: events, provisioner: &provisioner{
		Config:  Config{Dir: filepath.Join(t.TempDir(), "volumes"), Node: "n1", Hostname: "n1", Client: client, Log: slog.New(slog.DiscardHandler)},
		claims:  shared.Core().V1().PersistentVolumeClaims().Lister(),
		volumes: shared.Core().V1().PersistentVolumes().Lister(),
		classes: shared.Storage().V1().StorageClasses().Lister(), recorder: events,
	}}
}

func (s scene) event() string {
	select {
	case e := <-s.events.Events:
		return e
	default:
		return ""
	}
}

func newClaim(change func(*v1.PersistentVolumeClaim)) *v1.PersistentVolumeClaim {
	name, mode := ClassName, v1.PersistentVolumeFilesystem
	claim := &v1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "data", UID: "u1", Annotations: map[string]string{storageProvisioner: Provisioner, selectedNode: "n1"}},
		Spec: v1.PersistentVolumeClaimSpec{
			StorageClassName: &name, VolumeMode: &mode, AccessModes: []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce},
			Resources: v1.VolumeResourceRequirements{Requests: v1.ResourceList{v1.ResourceStorage: resource.MustParse("1Mi")}},
		},
	}
	if change != nil {
		change(claim)
	}
	return claim
}

func TestClaimBecomesFolderAndVolume(t *testing.T) {
	s := newScene(t, newClaim(nil), class("n1"))
	if err := s.sync(t.Context(), item{"shop", "data"}); err != nil {
		t.Fatal(err)
	}
	got, err := s.client.CoreV1().PersistentVolumes().Get(t.Context(), "pvc-u1", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	mode := v1.PersistentVolumeFilesystem
	path := filepath.Join(s.Dir, "pvc-u1_shop_data")
	want := v1.PersistentVolumeSpec{
		Capacity:                      v1.ResourceList{v1.ResourceStorage: resource.MustParse("1Mi")},
		PersistentVolumeSource:        v1.PersistentVolumeSource{Local: &v1.LocalVolumeSource{Path: path}},
		AccessModes:                   []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce},
		ClaimRef:                      &v1.ObjectReference{Kind: "PersistentVolumeClaim", APIVersion: "v1", Namespace: "shop", Name: "data", UID: "u1"},
		PersistentVolumeReclaimPolicy: v1.PersistentVolumeReclaimDelete,
		StorageClassName:              "local",
		VolumeMode:                    &mode,
		NodeAffinity: &v1.VolumeNodeAffinity{Required: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{
			MatchExpressions: []v1.NodeSelectorRequirement{{Key: "kubernetes.io/hostname", Operator: v1.NodeSelectorOpIn, Values: []string{"n1"}}},
		}}}},
	}
	if diff := cmp.Diff(want, got.Spec); diff != "" {
		t.Errorf("volume (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{finalizer}, got.Finalizers); diff != "" {
		t.Errorf("finalizers (-want +got):\n%s", diff)
	}
	if info, err := os.Stat(path); err != nil || info.Mode() != os.ModeDir|0o777 {
		t.Errorf("folder: %v, %v, want a folder with mode 0777", info, err)
	}
	if got, want := s.event(), "Normal ProvisioningSucceeded Successfully provisioned volume pvc-u1"; got != want {
		t.Errorf("event %q, want %q", got, want)
	}
}

func TestClaimIsRefused(t *testing.T) {
	block := v1.PersistentVolumeBlock
	for name, c := range map[string]struct {
		change func(*v1.PersistentVolumeClaim)
		want   string
	}{
		"block":    {func(c *v1.PersistentVolumeClaim) { c.Spec.VolumeMode = &block }, "volumeMode Block is not supported"},
		"many":     {func(c *v1.PersistentVolumeClaim) { c.Spec.AccessModes[0] = v1.ReadWriteMany }, "accessModes [ReadWriteMany] are not supported"},
		"selector": {func(c *v1.PersistentVolumeClaim) { c.Spec.Selector = &metav1.LabelSelector{} }, "a selector is not supported"},
		"source":   {func(c *v1.PersistentVolumeClaim) { c.Spec.DataSource = &v1.TypedLocalObjectReference{} }, "dataSource and dataSourceRef are not supported"},
		"too large": {func(c *v1.PersistentVolumeClaim) {
			c.Spec.Resources.Requests[v1.ResourceStorage] = resource.MustParse("1Ei")
		}, "1Ei are claimed, but the file system of"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, newClaim(c.change), class("n1"))
			if err := s.sync(t.Context(), item{"shop", "data"}); err == nil {
				t.Error("no error, so that it is not tried again")
			}
			if got := s.event(); !strings.HasPrefix(got, "Warning ProvisioningFailed") || !strings.Contains(got, c.want) {
				t.Errorf("event %q, want %q", got, c.want)
			}
			if entries, _ := os.ReadDir(s.Dir); len(entries) > 0 {
				t.Errorf("it has made %v", entries)
			}
		})
	}
}

// A claim for another node is refused by name of the nodes, and the scheduler
// chooses again.
func TestClaimOfAnotherNode(t *testing.T) {
	claim := newClaim(func(c *v1.PersistentVolumeClaim) { c.Annotations[selectedNode] = "n2" })
	s := newScene(t, claim, class("n1"))
	if err := s.sync(t.Context(), item{"shop", "data"}); err != nil {
		t.Fatal(err)
	}
	if got := s.event(); !strings.Contains(got, "node n2 was selected, but local folders are made on n1 only") {
		t.Errorf("event %q", got)
	}
	got, err := s.client.CoreV1().PersistentVolumeClaims("shop").Get(t.Context(), "data", metav1.GetOptions{})
	if err != nil || got.Annotations[selectedNode] != "" {
		t.Errorf("annotations %v, %v, want no selected node", got.Annotations, err)
	}
}

func TestClaimThatIsNotOurs(t *testing.T) {
	for name, change := range map[string]func(*v1.PersistentVolumeClaim){
		"of another provisioner": func(c *v1.PersistentVolumeClaim) { c.Annotations[storageProvisioner] = "other" },
		"not scheduled":          func(c *v1.PersistentVolumeClaim) { delete(c.Annotations, selectedNode) },
		"bound":                  func(c *v1.PersistentVolumeClaim) { c.Spec.VolumeName = "v" },
		"being deleted":          func(c *v1.PersistentVolumeClaim) { c.DeletionTimestamp = &metav1.Time{}; c.Finalizers = []string{"f"} },
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, newClaim(change), class("n1"))
			if err := s.sync(t.Context(), item{"shop", "data"}); err != nil || s.event() != "" {
				t.Errorf("err %v or an event, want neither", err)
			}
		})
	}
}

// released is the volume of a claim that is gone, with a file in its folder.
func released(t *testing.T, change func(*v1.PersistentVolume)) (s scene, file string) {
	t.Helper()
	first := newScene(t, newClaim(nil), class("n1"))
	if err := first.sync(t.Context(), item{"shop", "data"}); err != nil {
		t.Fatal(err)
	}
	volume, err := first.client.CoreV1().PersistentVolumes().Get(t.Context(), "pvc-u1", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(volume.Spec.Local.Path, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	volume.Status.Phase = v1.VolumeReleased
	change(volume)
	s = newScene(t, volume)
	s.Dir = first.Dir
	return s, file
}

func (s scene) hasVolume(ctx context.Context) bool {
	_, err := s.client.CoreV1().PersistentVolumes().Get(ctx, "pvc-u1", metav1.GetOptions{})
	return !apierrors.IsNotFound(err)
}

func TestReleasedVolumeIsDeleted(t *testing.T) {
	s, file := released(t, func(*v1.PersistentVolume) {})
	if err := s.sync(t.Context(), item{name: "pvc-u1"}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Dir(file)); !os.IsNotExist(err) {
		t.Errorf("folder: %v, want none", err)
	}
	if s.hasVolume(t.Context()) {
		t.Error("the volume is there yet")
	}
}

func TestVolumeIsLeftAlone(t *testing.T) {
	for name, change := range map[string]func(*v1.PersistentVolume){
		"bound":    func(v *v1.PersistentVolume) { v.Status.Phase = v1.VolumeBound },
		"retained": func(v *v1.PersistentVolume) { v.Spec.PersistentVolumeReclaimPolicy = v1.PersistentVolumeReclaimRetain },
		"of another node": func(v *v1.PersistentVolume) {
			v.Spec.NodeAffinity.Required.NodeSelectorTerms[0].MatchExpressions[0].Values[0] = "n2"
		},
		"of another maker": func(v *v1.PersistentVolume) { v.Annotations[provisionedBy] = "other" },
	} {
		t.Run(name, func(t *testing.T) {
			s, file := released(t, change)
			if err := s.sync(t.Context(), item{name: "pvc-u1"}); err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(file); err != nil || !s.hasVolume(t.Context()) {
				t.Errorf("file %v, volume there %v, want both kept", err, s.hasVolume(t.Context()))
			}
		})
	}
}

func TestFolderThatIsNotTheClaimsIsKept(t *testing.T) {
	for name, change := range map[string]func(v *v1.PersistentVolume, dir string){
		"elsewhere":       func(v *v1.PersistentVolume, dir string) { v.Spec.Local.Path = dir },
		"of another name": func(v *v1.PersistentVolume, _ string) { v.Spec.ClaimRef.UID = "u2" },
	} {
		t.Run(name, func(t *testing.T) {
			other := t.TempDir()
			s, file := released(t, func(v *v1.PersistentVolume) { change(v, other) })
			if err := s.sync(t.Context(), item{name: "pvc-u1"}); err == nil || !strings.Contains(s.event(), "Warning VolumeFailedDelete") {
				t.Errorf("err %v or no event", err)
			}
			for _, path := range []string{file, other} {
				if _, err := os.Stat(path); err != nil {
					t.Errorf("%s: %v", path, err)
				}
			}
		})
	}
}

// A long name is cut where the file system has its limit.
func TestFolderName(t *testing.T) {
	ref := &v1.ObjectReference{UID: "0f8f8d2c-1111-4222-8333-444455556666", Namespace: strings.Repeat("n", 63), Name: strings.Repeat("c", 253)}
	dir := t.TempDir()
	path, err := makeFolder(dir, folderName(ref))
	if err != nil || len(filepath.Base(path)) != 255 {
		t.Errorf("%d bytes, %v, want 255", len(filepath.Base(path)), err)
	}
}

func TestClassGetsAnotherNode(t *testing.T) {
	client := fake.NewClientset()
	for _, node := range []string{"n1", "n1", "n2"} {
		if err := ensureClass(t.Context(), client, node); err != nil {
			t.Fatal(err)
		}
	}
	got, err := client.StorageV1().StorageClasses().Get(t.Context(), ClassName, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want := class("n1").AllowedTopologies
	want[0].MatchLabelExpressions[0].Values = []string{"n1", "n2"}
	if diff := cmp.Diff(want, got.AllowedTopologies); diff != "" {
		t.Errorf("class (-want +got):\n%s", diff)
	}
}
