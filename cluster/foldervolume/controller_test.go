package foldervolume

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/record"

	"github.com/lifepod/lifepod/cluster/localvolume"
	"github.com/lifepod/lifepod/cluster/reclaim"
	"github.com/lifepod/lifepod/internal/assert"
)

// scene is a controller whose informers know a volume of a claim that has gone.
type scene struct {
	*controller
	client *fake.Clientset
	events *record.FakeRecorder
	file   string // in the volume's folder
}

func newScene(t *testing.T, change func(*v1.PersistentVolume)) scene {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "volumes")
	volume := &v1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: "pvc-u1", Finalizers: []string{reclaim.Finalizer}, Annotations: map[string]string{reclaim.ProvisionedBy: localvolume.Folders}},
		Spec: v1.PersistentVolumeSpec{
			PersistentVolumeSource:        v1.PersistentVolumeSource{Local: &v1.LocalVolumeSource{Path: filepath.Join(dir, "pvc-u1_shop_data")}},
			ClaimRef:                      &v1.ObjectReference{Namespace: "shop", Name: "data", UID: "u1"},
			PersistentVolumeReclaimPolicy: v1.PersistentVolumeReclaimDelete,
			NodeAffinity: &v1.VolumeNodeAffinity{Required: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{
				MatchExpressions: []v1.NodeSelectorRequirement{{Key: v1.LabelHostname, Operator: v1.NodeSelectorOpIn, Values: []string{"n1"}}},
			}}}},
		},
		Status: v1.PersistentVolumeStatus{Phase: v1.VolumeReleased},
	}
	file := filepath.Join(volume.Spec.Local.Path, "file")
	assert.Must(t, os.MkdirAll(filepath.Dir(file), 0o700))
	assert.Must(t, os.WriteFile(file, nil, 0o600))
	change(volume)
	client := fake.NewClientset(volume)
	shared := informers.NewSharedInformerFactory(client, 0)
	assert.Must(t, shared.Core().V1().PersistentVolumes().Informer().GetStore().Add(volume))
	events := record.NewFakeRecorder(10)
	return scene{client: client, events: events, file: file, controller: &controller{
		Config:  Config{Dir: dir, Node: "n1", Client: client, Log: slog.New(slog.DiscardHandler)},
		volumes: shared.Core().V1().PersistentVolumes().Lister(), recorder: events,
	}}
}

func (s scene) hasVolume(ctx context.Context) bool {
	_, err := s.client.CoreV1().PersistentVolumes().Get(ctx, "pvc-u1", metav1.GetOptions{})
	return !apierrors.IsNotFound(err)
}

func TestReleasedVolumeIsDeleted(t *testing.T) {
	s := newScene(t, func(*v1.PersistentVolume) {})
	assert.Must(t, s.sync(t.Context(), "pvc-u1"))
	assert.ErrorIs(t, os.ErrNotExist, assert.ErrorOf(os.Stat(filepath.Dir(s.file))), "folder")
	assert.True(t, !s.hasVolume(t.Context()), "the volume is there yet")
}

func TestVolumeIsLeftAlone(t *testing.T) {
	for name, change := range map[string]func(*v1.PersistentVolume){
		"bound": func(v *v1.PersistentVolume) { v.Status.Phase = v1.VolumeBound },
		"retained": func(v *v1.PersistentVolume) {
			v.Spec.PersistentVolumeReclaimPolicy, v.Finalizers = v1.PersistentVolumeReclaimRetain, nil
		},
		"of another node": func(v *v1.PersistentVolume) {
			v.Spec.NodeAffinity.Required.NodeSelectorTerms[0].MatchExpressions[0].Values[0] = "n2"
		},
		"of another maker": func(v *v1.PersistentVolume) { v.Annotations[reclaim.ProvisionedBy] = "other" },
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, change)
			assert.Must(t, s.sync(t.Context(), "pvc-u1"))
			_, err := os.Stat(s.file)
			assert.True(t, err == nil && s.hasVolume(t.Context()), "file %v, volume there %v, want both kept", err, s.hasVolume(t.Context()))
		})
	}
}

func TestFolderThatIsNotTheClaimsIsKept(t *testing.T) {
	other := t.TempDir()
	for name, change := range map[string]func(v *v1.PersistentVolume){
		"elsewhere":       func(v *v1.PersistentVolume) { v.Spec.Local.Path = other },
		"of another name": func(v *v1.PersistentVolume) { v.Spec.ClaimRef.UID = "u2" },
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, change)
			if err := s.sync(t.Context(), "pvc-u1"); err == nil || len(s.events.Events) != 1 || !strings.Contains(<-s.events.Events, "Warning VolumeFailedDelete") {
				t.Errorf("err %v or no event", err)
			}
			for _, path := range []string{s.file, other} {
				_, err := os.Stat(path)
				assert.True(t, err == nil, "%s: %v", path, err)
			}
		})
	}
}

// A long name is cut where the file system has its limit.
func TestFolderName(t *testing.T) {
	ref := &v1.ObjectReference{UID: "0f8f8d2c-1111-4222-8333-444455556666", Namespace: strings.Repeat("n", 63), Name: strings.Repeat("c", 253)}
	assert.Deep(t, "bytes", 255, len(folderName(ref)))
}
