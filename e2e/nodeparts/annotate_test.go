package nodeparts

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/node/publish"
)

// TestAnnotate: the API server lets a node write annotations of its pods with their status, and
// not without (B-GRP-14).
func TestAnnotate(t *testing.T) {
	const key = "jobset.sigs.k8s.io/in-place-restart-attempt"
	n := joinAs(t, publish.WriterConfig{})
	web := n.pod("web", func(p *v1.Pod) { p.Annotations = map[string]string{"kept": "yes"} })
	n.Annotate(web, map[string]string{key: "3"})
	n.Set(web, v1.PodStatus{Phase: v1.PodRunning}, nil)
	n.until("the status", func(p *v1.Pod) bool { return p.Status.Phase == v1.PodRunning })
	got := n.read(web.Name).Annotations
	assert.True(t, got[key] == "3" && got["kept"] == "yes", "B-GRP-14: the object has %v", got)
	assert.Deep(t, "B-GRP-3 writes for a status and an annotation", int64(1), n.writes.Load())
	patch := []byte(`{"metadata":{"annotations":{"` + key + `":"4"}}}`)
	_, err := n.client.CoreV1().Pods(web.Namespace).Patch(t.Context(), web.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{})
	assert.True(t, apierrors.IsForbidden(err), "B-GRP-14: without the status: %v, want forbidden", err)
	assert.True(t, n.log.String() == "", "log:\n%s", n.log)
}
