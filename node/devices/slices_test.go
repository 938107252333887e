package devices

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/lifepod/lifepod/internal/assert"
)

// TestSlicesOfDriversThatAreGone: the slices of a driver are removed when it can't be called
// for 30 s, or does not come back after the agent has begun; that is tried until it works
// (A-DRA-11).
func TestSlicesOfDriversThatAreGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var removed []string
		refusals := 1
		client := fake.NewClientset(sliceOf("left"), sliceOf("back"))
		client.PrependReactor("delete-collection", "resourceslices", func(action clienttesting.Action) (bool, runtime.Object, error) {
			mu.Lock()
			defer mu.Unlock()
			if refusals--; refusals >= 0 {
				return true, nil, errors.New("try again")
			}
			removed = append(removed, action.(clienttesting.DeleteCollectionAction).GetListRestrictions().Fields.String())
			return true, nil, nil
		})
		s := &slicesOf{client: client, node: "n", log: slog.New(slog.DiscardHandler), pending: map[string]context.CancelFunc{}}
		assert.Runs(t, func(ctx context.Context) { s.run(ctx, func(name string) { s.driver(name, false) }) })
		want := func(after time.Duration, want ...string) {
			t.Helper()
			time.Sleep(after)
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			slices.Sort(removed)
			assert.True(t, slices.Equal(removed, want), "removed %v, want %v", removed, want)
		}
		const left, lost = "spec.driver=left,spec.nodeName=n", "spec.driver=lost,spec.nodeName=n"
		want(29 * time.Second)
		s.driver("back", true)
		want(5*time.Second, left) // the first try was refused
		s.driver("lost", false)
		s.driver("lost", false) // still
		want(29*time.Second, left)
		s.driver("lost", true)
		s.driver("lost", false) // the time begins anew
		want(29*time.Second, left)
		want(2*time.Second, left, lost)
		want(time.Hour, left, lost)
	})
}

func sliceOf(driver string) *resourceapi.ResourceSlice {
	node := "n"
	return &resourceapi.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: driver}, Spec: resourceapi.ResourceSliceSpec{Driver: driver, NodeName: &node}}
}
