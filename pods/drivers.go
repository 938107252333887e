package pods

import (
	"maps"
	"slices"

	"github.com/lifepod/lifepod/lifecycle"
)

// DriverRegistered tells the pods that need drivers, in the order of their UIDs, that one can be asked again.
func (s *Shell) DriverRegistered() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, uid := range slices.Sorted(maps.Keys(s.lives)) {
		l := s.lives[uid]
		if lifecycle.UsesDrivers(l.Worker.Pod()) {
			l.Tell(lifecycle.DriverRegistered{})
		}
	}
}

// AllHeard says whether every source has reported what it had: no pod is unknown from then on.
func (s *Shell) AllHeard() bool {
	select {
	case <-s.heard:
		return true
	default:
		return false
	}
}

// Complete is closed when every source has reported what it had.
func (s *Shell) Complete() <-chan struct{} { return s.heard }
