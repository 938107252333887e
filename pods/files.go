package pods

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// files serialises work on the files of one pod; different pods don't wait for each other.
type files struct {
	mu   sync.Mutex
	last map[types.UID]chan struct{} // closed when the last work that was queued is done
}

// queue takes the next place in a pod's queue. The function that it returns waits for the work before,
// then does its own; it must be called.
func (f *files) queue(uid types.UID) func(do func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.last == nil {
		f.last = map[types.UID]chan struct{}{}
	}
	before, over := f.last[uid], make(chan struct{})
	f.last[uid] = over
	return func(do func()) {
		if before != nil {
			<-before
		}
		do()
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.last[uid] == over {
			delete(f.last, uid)
		}
		close(over)
	}
}
