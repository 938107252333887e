package server

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// changes wakes those who wait for a pod's next status. A pod for which nobody
// waits costs nothing.
type changes struct {
	mu   sync.Mutex
	pods map[types.UID]*change
}

// change is the next one of a pod.
type change struct {
	came    chan struct{} // closed when it has come
	waiters int
}

// next is closed when the pod changes. forget is to be called when it is not waited for
// any more.
func (c *changes) next(uid types.UID) (came <-chan struct{}, forget func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pods == nil {
		c.pods = map[types.UID]*change{}
	}
	next := c.pods[uid]
	if next == nil {
		next = &change{came: make(chan struct{})}
		c.pods[uid] = next
	}
	next.waiters++
	return next.came, func() { c.forget(uid, next) }
}

func (c *changes) forget(uid types.UID, next *change) {
	c.mu.Lock()
	defer c.mu.Unlock()
	next.waiters--
	if next.waiters == 0 && c.pods[uid] == next {
		delete(c.pods, uid)
	}
}

func (c *changes) changed(uid types.UID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if next := c.pods[uid]; next != nil {
		close(next.came)
		delete(c.pods, uid)
	}
}
