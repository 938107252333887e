package roster

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lifepod/lifepod/internal/assert"
)

// A pod that lives has the status of its worker, and the claims that others have made for it: who asks
// finds their devices by them (A-DEV-13).
func TestViewHasClaims(t *testing.T) {
	p := &pod{newest: &v1.Pod{}, status: v1.PodStatus{Phase: v1.PodRunning}}
	p.newest.Status.Phase = v1.PodPending
	p.newest.Status.ResourceClaimStatuses = []v1.PodResourceClaimStatus{{Name: "gpu", ResourceClaimName: new("made")}}
	p.newest.Status.ExtendedResourceClaimStatus = &v1.PodExtendedResourceClaimStatus{ResourceClaimName: "extended"}
	p.newest.Status.NodeAllocatableResourceClaimStatuses = []v1.NodeAllocatableResourceClaimStatus{{}}
	got := p.view().Pod.Status
	if got.Phase != v1.PodRunning || len(got.ResourceClaimStatuses) != 1 || got.ExtendedResourceClaimStatus == nil || len(got.NodeAllocatableResourceClaimStatuses) != 1 {
		t.Errorf("A-DEV-13: status %+v", got)
	}
}

// Of two pods with one name the wanted one is found, and none of another name or namespace.
func TestPodByName(t *testing.T) {
	at := func(uid, namespace, name string, wanted bool) *pod {
		p := &pod{uid: types.UID(uid), newest: &v1.Pod{}, wanted: wanted}
		p.newest.UID, p.newest.Namespace, p.newest.Name = p.uid, namespace, name
		return p
	}
	m := &Machine{pods: map[types.UID]*pod{}}
	for _, p := range []*pod{
		at("leaves", "default", "web", false), at("stays", "default", "web", true), at("other name", "default", "db", true), at("elsewhere", "kube-system", "web", true),
		at("alone", "default", "old", false),
	} {
		m.pods[p.uid] = p
	}
	for range 20 { // maps have no order
		found, is := m.Pod("default", "web")
		assert.Require(t, is && found.Pod.UID == "stays", "default/web is %q", found.Pod.UID)
	}
	found, is := m.Pod("default", "old")
	assert.True(t, is && found.Pod.UID == "alone", "default/old is %q", found.Pod.UID)
	if found, is := m.Pod("kube-system", "db"); is {
		t.Errorf("kube-system/db is %q", found.Pod.UID)
	}
}
