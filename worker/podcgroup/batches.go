package podcgroup

import (
	"sync"
	"sync/atomic"

	v1 "k8s.io/api/core/v1"
)

// Batches has the levels of one process settled in batches: once for all pods that have come or changed before the batch began. A look
// at all pods of a level for each of thousands that begin would take longer than all else. The zero value looks for each.
type Batches struct{ burstable, besteffort, protected *batch }

// NewBatches are for a process with many pods.
func NewBatches() Batches { return Batches{&batch{}, &batch{}, &batch{}} }

func (r Batches) shares(class v1.PodQOSClass) *batch {
	if class == v1.PodQOSBurstable {
		return r.burstable
	}
	return r.besteffort
}

// batch is what is done once for all who ask for it before it begins. A nil one does it for each.
type batch struct {
	asked atomic.Int64 // how many have

	mu     sync.Mutex
	served int64 // how many of them the last one was for
	err    error // of the last one
}

// together returns once do has run that was begun after the call, whoever has begun it.
func (r *batch) together(do func() error) error {
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
