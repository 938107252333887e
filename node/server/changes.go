package server

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// changes wakes those who wait for a pod's next status. A pod for which nobody
// waits costs nothing.
type changes struct {
	mu   sync.Mutex
	pods map[types.UID]chan struct{} // closed at the next change
}

// next is closed when the pod changes.
func (c *changes) next(uid types.UID) <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pods == nil {
		c.pods = map[types.UID]chan struct{}{}
	}
	if c.pods[uid] == nil {
		c.pods[uid] = make(chan struct{})
	}
	return c.pods[uid]
}

func (c *changes) changed(uid types.UID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if next := c.pods[uid]; next != nil {
		close(next)
		delete(c.pods, uid)
	}
}
