package devices

import (
	"context"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/lifecycle"
)

// Run moves containers, and remembers who has what, until ctx ends.
func (r *Resources) Run(ctx context.Context) {
	var beside sync.WaitGroup
	defer beside.Wait()
	if r.rules.CPUs != nil {
		beside.Go(func() { r.Containers.Run(ctx) })
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.dirty:
			if err := r.remember(); err != nil {
				r.config.Log.WarnContext(ctx, "CPUs or memory may be taken for given that are not, after the agent's next start", "err", err)
			}
		}
	}
}

// remember writes the state files.
func (r *Resources) remember() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return SaveExclusive(r.config.Dir, r.has)
}

// Carried is told what was carried out for a pod (worker.Watch).
func (r *Resources) Carried(pod *v1.Pod, effect lifecycle.Effect, answer lifecycle.Fact, _ time.Duration) {
	switch e := effect.(type) {
	case lifecycle.CreateContainer:
		if r.rules.Memory != nil && answer.(lifecycle.ContainerCreated).Failure == nil {
			r.mu.Lock()
			r.has.Started(pod, e.Container) // init containers before it have ended (A-NUMA-13)
			r.mu.Unlock()
			r.dirty.Send()
		}
	case lifecycle.StartContainer:
		if r.rules.CPUs != nil { // those that are shared may be others since it was created
			r.Containers.Look(e.ContainerID, pod.UID, e.Container)
		}
	}
}
