package pods

import (
	"strings"
	"testing"
	"time"

	"github.com/lifepod/lifepod/internal/assert"
)

// What the node says of its health is true: a worker that stands still shows, and
// only that (A-SYNC-11).
func TestWorkerThatStandsStill(t *testing.T) {
	tell(t, func(s *story) {
		release := make(chan struct{})
		defer close(release)
		s.apply(podOf("good"), podOf("stuck"))
		s.heard()
		if err := s.pods.Healthy(); err != nil {
			t.Fatalf("healthy pods: %v", err)
		}
		s.api.hang("stuck", release)
		s.Exit("stuck/main", 1)
		time.Sleep(Standstill - time.Minute)
		if err := s.pods.Healthy(); err != nil {
			t.Fatalf("before its time: %v", err)
		}
		time.Sleep(2 * time.Minute)
		err := s.pods.Healthy()
		assert.True(t, err != nil && strings.HasPrefix(err.Error(), "pod default/stuck has not been gone on with for "), "got %v", err)
	})
}
