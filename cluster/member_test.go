package cluster

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestTrimNode: a joined machine knows how old Nodes are, which decides between two that
// claim the same podCIDR.
func TestTrimNode(t *testing.T) {
	made := metav1.Unix(1e9, 0)
	got, err := trimNode(&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n2", CreationTimestamp: made}})
	if err != nil {
		t.Fatal(err)
	}
	if kept := got.(*v1.Node).CreationTimestamp; !kept.Equal(&made) {
		t.Errorf("made at %v, want %v", kept, made)
	}
}
