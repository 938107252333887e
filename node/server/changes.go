package server

import (
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lifepod/lifepod/node/localapi"
)

// Changes wakes those who wait for a pod's next status, or watch all pods. A pod for which nobody
// waits costs nothing.
type Changes struct {
	any localapi.Changes // of whichever pod

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
func (c *Changes) next(uid types.UID) (came <-chan struct{}, forget func()) {
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

func (c *Changes) forget(uid types.UID, next *change) {
	c.mu.Lock()
	defer c.mu.Unlock()
	next.waiters--
	if next.waiters == 0 && c.pods[uid] == next {
		delete(c.pods, uid)
	}
}

// PodsAPI answers requests about the pods of the node, as localapi.NewPodsAPI has it.
func (c *Changes) PodsAPI(pods func() []*v1.Pod, complete func() <-chan struct{}) *localapi.PodsAPI {
	return localapi.NewPodsAPI(pods, complete, &c.any)
}

// Changed tells that a pod is another one, has another status, or is gone: who follows its logs looks.
// It does not block. Call it after the Node knows.
func (c *Changes) Changed(uid types.UID) {
	c.any.Changed()
	c.mu.Lock()
	defer c.mu.Unlock()
	if next := c.pods[uid]; next != nil {
		close(next.came)
		delete(c.pods, uid)
	}
}
