package register

import (
	"sync"
	"sync/atomic"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// object is the Node as the API has it.
type object struct {
	// initial is what to register, without the runtime's part of its status.
	initial *v1.Node
	newest  atomic.Pointer[v1.Node] // nil until it is known
	heard   func(*v1.Node)          // hears each newer one, in their order
	mu      sync.Mutex              // held while one is published

	known     chan struct{} // closed when newest is set for the first time
	knownOnce sync.Once
}

func newObject(initial *v1.Node, heard func(*v1.Node)) *object {
	return &object{initial: initial, heard: heard, known: make(chan struct{})}
}

// publish makes a Node the newest unless its version is known already, or is an
// older one and evenOlder isn't set; it says whether it did. It becomes the object's own.
func (o *object) publish(node *v1.Node, evenOlder bool) bool {
	node.ManagedFields = nil
	o.mu.Lock()
	defer o.mu.Unlock()
	known := o.newest.Load()
	if known != nil && known.UID == node.UID {
		order, err := resourceversion.CompareResourceVersion(node.ResourceVersion, known.ResourceVersion)
		if err == nil && (order == 0 || order < 0 && !evenOlder) {
			return false
		}
	}
	o.newest.Store(node)
	o.heard(node)
	o.knownOnce.Do(func() { close(o.known) })
	return true
}
