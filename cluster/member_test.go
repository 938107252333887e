package cluster

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lifepod/lifepod/internal/assert"
)

// TestTrimNode: a joined machine knows how old Nodes are, which decides between two that
// claim the same podCIDR, and which of them take traffic no more.
func TestTrimNode(t *testing.T) {
	made := metav1.Unix(1e9, 0)
	got := assert.Get(trimNode(&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n2", CreationTimestamp: made, DeletionTimestamp: &made},
		Spec: v1.NodeSpec{Taints: []v1.Taint{{Key: "ToBeDeletedByClusterAutoscaler"}}}})).Must(t)
	kept := got.(*v1.Node)
	assert.True(t, kept.CreationTimestamp.Equal(&made), "made at %v, want %v", kept.CreationTimestamp, made)
	assert.True(t, len(kept.Spec.Taints) == 1 && kept.DeletionTimestamp != nil,
		"taints %v, deleted at %v: the node seems to take traffic", kept.Spec.Taints, kept.DeletionTimestamp)
}
