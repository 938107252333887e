package objects

import (
	"log/slog"
	"testing"
	"testing/synctest"

	nodev1 "k8s.io/api/node/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/worker"
)

var _ worker.RuntimeClasses = (*RuntimeClasses)(nil)

// TestHandler: A-CRI-13, and nothing is asked of the API server before a pod names
// a class.
func TestHandler(t *testing.T) {
	client := fake.NewSimpleClientset(&nodev1.RuntimeClass{ObjectMeta: metav1.ObjectMeta{Name: "sandboxed"}, Handler: "runsc"})
	classes := NewRuntimeClasses(client, slog.New(slog.DiscardHandler))
	assert.Runs(t, classes.Run)
	handler, err := classes.Handler("")
	assert.True(t, handler == "" && err == nil, "no class: %q, %v", handler, err)
	assert.Equal(t, 0, len(client.Actions()), "requests before a class was named")
	handler, err = classes.Handler("sandboxed")
	assert.True(t, handler == "runsc" && err == nil, "A-CRI-13: %q, %v", handler, err)
	_, err = classes.Handler("none")
	assert.True(t, apierrors.IsNotFound(err) && err.Error() == `runtimeclass.node.k8s.io "none" not found`, "A-CRI-13 a class that is not there: %v", err)
}

// TestUnreached: a lookup ends although the API server never answers.
func TestUnreached(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		classes := NewRuntimeClasses(fake.NewSimpleClientset(), slog.New(slog.DiscardHandler))
		_, err := classes.Handler("sandboxed") // nobody runs it
		assert.Error(t, "failed to lookup RuntimeClass sandboxed: the API server was not reached yet", err)
	})
}
