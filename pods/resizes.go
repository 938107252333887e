package pods

import (
	"sync"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/roster"
	"github.com/lifepod/lifepod/roster/admit"
)

// resizes are the unanswered questions whether the node has room for a resize.
type resizes struct {
	mu    sync.Mutex
	next  int
	asked map[int]chan<- *admit.Refusal
}

func (r *resizes) ask() (id int, answer <-chan *admit.Refusal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.next++
	c := make(chan *admit.Refusal, 1)
	r.asked[r.next] = c
	return r.next, c
}

func (r *resizes) answer(id int, refusal *admit.Refusal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked[id] <- refusal
	delete(r.asked, id)
}

// Room says whether the node has room for a pod that runs here to have other
// resources (A-ACT-15).
func (b *Inbox) Room(resized *v1.Pod) *admit.Refusal {
	id, answer := b.resizes.ask()
	b.mail.Post(roster.ResizeAsked{ID: id, Pod: resized})
	select {
	case refusal := <-answer:
		return refusal
	case <-b.closed: // nobody carries the resize out any more
		return &admit.Refusal{Reason: v1.PodReasonDeferred, Message: "lifepod ends"}
	}
}
