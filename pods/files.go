package pods

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// files has what is done with the files of one pod done in its order, beside what is
// done with those of others.
type files struct {
	mu   sync.Mutex
	last map[types.UID]chan struct{} // closed when the last turn that was given out is over
}

// turn is the next turn at a pod's files: what is handed to it is done when those before
// are over. It has to be used.
func (f *files) turn(uid types.UID) func(do func()) {
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
