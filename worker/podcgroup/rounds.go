package podcgroup

import (
	"sync"
	"sync/atomic"

	v1 "k8s.io/api/core/v1"
)

// Rounds has the levels of one process settled in rounds: once for all pods that have come or changed before the round began. A look
// at all pods of a level for each of thousands that begin would take longer than all else. The zero value looks for each.
type Rounds struct{ burstable, besteffort, protected *round }

// NewRounds are for a process with many pods.
func NewRounds() Rounds { return Rounds{&round{}, &round{}, &round{}} }

func (r Rounds) shares(class v1.PodQOSClass) *round {
	if class == v1.PodQOSBurstable {
		return r.burstable
	}
	return r.besteffort
}

// round is what is done once for all who ask for it before it begins. A nil one does it for each.
type round struct {
	asked atomic.Int64 // how many have

	mu     sync.Mutex
	served int64 // how many of them the last one was for
	err    error // of the last one
}

// together returns once do has run that was begun after the call, whoever has begun it.
func (r *round) together(do func() error) error {
	if r == nil {
		return do()
	}
	mine := r.asked.Add(1)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.served < mine {
		r.served = r.asked.Load()
		r.err = do()
	}
	return r.err
}
