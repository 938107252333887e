package register

import (
	"sync"

	"github.com/lifepod/lifepod/internal/mailbox"
)

// calls is what the reporter is called for.
type calls struct {
	wake mailbox.Signal

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

func newCalls() *calls { return &calls{wake: mailbox.NewSignal()} }

// note adds to what was asked, and wakes the reporter.
func (c *calls) note(add func(*asked)) {
	c.mu.Lock()
	add(&c.asked)
	c.mu.Unlock()
	c.wake.Send()
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

// link is between the follower of the Node and what renews its Lease.
type link struct {
	relist mailbox.Signal // the renewal asks whether the API server is there
	back   mailbox.Signal // it is, the follower has found
	over   *notice        // an outage has ended
}

func newLink() link {
	return link{relist: mailbox.NewSignal(), back: mailbox.NewSignal(), over: &notice{}}
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
