package roster

import (
	"testing"

	v1 "k8s.io/api/core/v1"
)

// A pod that lives has the status of its worker, and the claims that others have made for it: who asks
// finds their devices by them (A-DEV-13).
func TestViewHasClaims(t *testing.T) {
	p := &pod{newest: &v1.Pod{}, status: v1.PodStatus{Phase: v1.PodRunning}}
	p.newest.Status.Phase = v1.PodPending
	p.newest.Status.ResourceClaimStatuses = []v1.PodResourceClaimStatus{{Name: "gpu", ResourceClaimName: new("made")}}
	p.newest.Status.ExtendedResourceClaimStatus = &v1.PodExtendedResourceClaimStatus{ResourceClaimName: "extended"}
	got := p.view().Pod.Status
	if got.Phase != v1.PodRunning || len(got.ResourceClaimStatuses) != 1 || got.ExtendedResourceClaimStatus == nil {
		t.Errorf("A-DEV-13: status %+v", got)
	}
}
