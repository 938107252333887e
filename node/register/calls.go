package register

import "sync"

// calls is what the reporter is called for.
type calls struct {
	wake chan struct{} // has room for one

	mu    sync.Mutex
	asked asked // since the reporter looked the last time
}

// asked is what the reporter is to look at.
type asked struct {
	runtime, images bool
	// back says that the API server was away and is there again.
	back bool
	// absent says that the API has no such Node; it stays until there is one.
	absent bool
}

func newCalls() *calls { return &calls{wake: make(chan struct{}, 1)} }

// note adds to what was asked, and wakes the reporter.
func (c *calls) note(add func(*asked)) {
	c.mu.Lock()
	add(&c.asked)
	c.mu.Unlock()
	poke(c.wake)
}

// take is what was asked since the last time.
func (c *calls) take() asked {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := c.asked
	c.asked = asked{absent: out.absent}
	return out
}

func (c *calls) absent() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.asked.absent
}

// link is between the follower of the Node and the keeper of its Lease. Each has room
// for one.
type link struct {
	relist chan struct{} // the keeper asks whether the API server is there
	back   chan struct{} // it is, the follower has found
	over   *notice       // an outage has ended
}

func newLink() link {
	return link{relist: make(chan struct{}, 1), back: make(chan struct{}, 1), over: &notice{}}
}

// notice calls somebody when something happens, or when he begins to wait for it if it has happened before: no
// goroutine waits.
type notice struct {
	mu    sync.Mutex
	given bool
	call  func() // nil: nobody waits
}

// give says that it has happened.
func (n *notice) give() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.given = n.call == nil; n.call != nil {
		n.call()
		n.call = nil
	}
}

// await has call called once; nil ends the wait.
func (n *notice) await(call func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.call = call
	if n.given && call != nil {
		call()
		n.given, n.call = false, nil
	}
}

// isGiven says that it has happened, and nobody has waited for it.
func (n *notice) isGiven() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.given
}
