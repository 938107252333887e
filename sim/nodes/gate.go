package nodes

import (
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lifepod/lifepod/lifecycle"
)

// jobSets tell pods how far their JobSets are.
type jobSets interface {
	Join(pod *v1.Pod, tell func(lifecycle.GroupSeen))
	Leave(uid types.UID)
}

// gate is how the pods of a node hear of their JobSets, which all nodes watch together: not while the node is cut off.
type gate struct {
	jobSets

	mu    sync.Mutex
	shut  bool
	waits map[types.UID]func() // tells a pod what it has missed
}

func newGate(all jobSets) *gate { return &gate{jobSets: all, waits: map[types.UID]func(){}} }

// Join calls tell with how far the pod's JobSet is. Only the last call counts.
func (g *gate) Join(pod *v1.Pod, tell func(lifecycle.GroupSeen)) {
	g.jobSets.Join(pod, func(seen lifecycle.GroupSeen) {
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.shut {
			g.waits[pod.UID] = func() { tell(seen) }
			return
		}
		tell(seen)
	})
}

func (g *gate) Leave(uid types.UID) {
	g.jobSets.Leave(uid)
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.waits, uid)
}

// Shut lets nothing pass.
func (g *gate) Shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shut = true
}

// Open tells the pods what they have missed.
func (g *gate) Open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shut = false
	for _, tell := range g.waits {
		tell()
	}
	clear(g.waits)
}
