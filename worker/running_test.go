package worker

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/lifecycle"
)

// The first status of a container that runs says as which user and of which image:
// whoever watches is told once, also while events are lost (A-CST-4, A-CST-16).
func TestFirstRunningStatusIsComplete(t *testing.T) {
	for _, fault := range []string{"", "lose STARTED main", "lose CREATED main", "drop CREATED main", "fail GetContainerEvents code=Unimplemented times=1000"} {
		storyOf(t, fault, func(t *testing.T, s *story) {
			if fault != "" {
				s.Fault(fault)
			}
			web := s.running(podOf("web", v1.RestartPolicyAlways, "main"))
			status := func() v1.ContainerStatus { return web.last().ContainerStatuses[0] }
			assert.True(t, status().User != nil && status().ImageID != "",
				"the first status of the running container: %+v, want its user and image", status())
			time.Sleep(11 * time.Second) // a snapshot's delay
			user := status().User
			assert.True(t, user != nil && user.Linux.UID == 7, "user %v, want 7", user)
		})
	}
}

// TestLooks: so many snapshots that no machine has asked for are made at the same time; the others wait, though not for those that are
// asked for, nor when the worker ends.
func TestLooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		looks := make(Looks, 2)
		entered := make(chan func(), 5)
		for range 5 {
			go func() { entered <- looks.enter(ctx, lifecycle.Observe{}) }()
		}
		synctest.Wait()
		assert.Require(t, len(entered) == 2, "%d at the same time", len(entered))
		looks.enter(ctx, lifecycle.Observe{ID: 1})()
		looks.enter(ctx, lifecycle.StopSandbox{})()
		Looks(nil).enter(ctx, lifecycle.Observe{})()
		(<-entered)()
		synctest.Wait()
		assert.True(t, len(entered) == 2, "%d after the first", len(entered)) // one has left, one has come
		cancel()
		synctest.Wait()
		assert.True(t, len(entered) == 4, "%d when the workers end", len(entered))
		for range 4 {
			(<-entered)()
		}
		assert.True(t, len(looks) == 0, "%d have not left", len(looks))
	})
}
