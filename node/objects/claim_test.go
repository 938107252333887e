package objects

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lifepod/lifepod/internal/assert"
)

func newClaim(name string, change func(*v1.PersistentVolumeClaim)) *v1.PersistentVolumeClaim {
	c := &v1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: "claim-1"},
		Spec:       v1.PersistentVolumeClaimSpec{VolumeName: "pv"},
		Status:     v1.PersistentVolumeClaimStatus{Phase: v1.ClaimBound},
	}
	if change != nil {
		change(c)
	}
	return c
}

func newVolume(claim types.UID) *v1.PersistentVolume {
	return &v1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv"}, Spec: v1.PersistentVolumeSpec{ClaimRef: &v1.ObjectReference{UID: claim}}}
}

func TestPersistentVolume(t *testing.T) {
	unbound := newVolume("")
	unbound.Spec.ClaimRef = nil
	tests := []struct {
		name    string
		objects []runtime.Object
		want    string // the error
	}{
		{"bound", []runtime.Object{newClaim("data", nil), newVolume("claim-1")}, ""},
		{"missing", nil, `error processing PVC ns/data: failed to fetch PVC from API server: persistentvolumeclaims "data" not found`},
		{"pending", []runtime.Object{newClaim("data", func(c *v1.PersistentVolumeClaim) { c.Status.Phase = v1.ClaimPending })}, "error processing PVC ns/data: PVC is not bound"},
		{"no volume", []runtime.Object{newClaim("data", func(c *v1.PersistentVolumeClaim) { c.Spec.VolumeName = "" })}, "error processing PVC ns/data: PVC has empty pvc.Spec.VolumeName"},
		{"being deleted", []runtime.Object{newClaim("data", func(c *v1.PersistentVolumeClaim) {
			c.DeletionTimestamp, c.Finalizers = new(metav1.Now()), []string{"other"}
		})}, "error processing PVC ns/data: PVC is being deleted"},
		{"being deleted, but protected", []runtime.Object{newClaim("data", func(c *v1.PersistentVolumeClaim) {
			c.DeletionTimestamp, c.Finalizers = new(metav1.Now()), []string{claimProtection}
		}), newVolume("claim-1")}, ""},
		{"volume missing", []runtime.Object{newClaim("data", nil)}, `error processing PVC ns/data: failed to fetch PV pv from API server: persistentvolumes "pv" not found`},
		{"volume of nobody", []runtime.Object{newClaim("data", nil), unbound}, "error processing PVC ns/data: found PV object pv but it has a nil pv.Spec.ClaimRef indicating it is not yet bound to the claim"},
		{"volume of another", []runtime.Object{newClaim("data", nil), newVolume("claim-2")}, "error processing PVC ns/data: found PV object pv but its pv.Spec.ClaimRef.UID claim-2 does not point to claim.UID claim-1"},
	}
	volume := &v1.Volume{Name: "v", VolumeSource: v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			bound, err := newWorld(t, tc.objects...).PersistentVolume(t.Context(), newPod("p1"), volume)
			switch {
			case tc.want != "":
				assert.Error(t, tc.want, err, "A-SYNC-8")
			case err != nil || bound.Name != "pv":
				t.Errorf("volume %v, %v", bound, err)
			}
		})
	}
}

// TestEphemeralClaim: it has to be the pod's own.
func TestEphemeralClaim(t *testing.T) {
	volume := &v1.Volume{Name: "scratch", VolumeSource: v1.VolumeSource{Ephemeral: &v1.EphemeralVolumeSource{}}}
	for owner, want := range map[types.UID]string{
		"p1": "", "p2": "PVC ns/pod-p1-scratch was not created for pod ns/pod-p1 (pod is not owner)",
	} {
		claim := newClaim("pod-p1-scratch", func(c *v1.PersistentVolumeClaim) {
			c.OwnerReferences = []metav1.OwnerReference{{Kind: "Pod", Name: "pod-p1", UID: owner, Controller: new(true)}}
		})
		assert.Error(t, want, assert.ErrorOf(newWorld(t, claim, newVolume("claim-1")).PersistentVolume(t.Context(), newPod("p1"), volume)), "owned by ", owner)
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestReachable(t *testing.T) {
	w := newWorld(t)
	for value, want := range map[string]string{"here": "", "there": "no matching NodeSelectorTerms"} {
		volume := newVolume("claim-1")
		volume.Spec.NodeAffinity = &v1.VolumeNodeAffinity{Required: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{
			MatchExpressions: []v1.NodeSelectorRequirement{{Key: "disk", Operator: v1.NodeSelectorOpIn, Values: []string{value}}},
		}}}}
		assert.Error(t, want, w.Reachable(volume), value)
	}
}
