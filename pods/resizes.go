package pods

import (
	"sync"
	"sync/atomic"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/roster"
	"github.com/lifepod/lifepod/roster/admit"
)

// resizes are the questions whether the node has room for a resize.
type resizes struct {
	asked      atomic.Int64 // how many there were
	unanswered sync.Map     // of chan *admit.Refusal, by ID
}

// Room says whether the node has room for a pod that runs here to have other
// resources (A-ACT-15).
func (b *Inbox) Room(resized *v1.Pod) *admit.Refusal {
	id, answer := int(b.resizes.asked.Add(1)), make(chan *admit.Refusal, 1)
	b.resizes.unanswered.Store(id, answer)
	b.mail.Post(roster.ResizeAsked{ID: id, Pod: resized})
	select {
	case refusal := <-answer:
		return refusal
	case <-b.closed: // nobody carries the resize out any more
		return &admit.Refusal{Reason: v1.PodReasonDeferred, Message: "lifepod ends"}
	}
}

func (b *Inbox) answerRoom(e roster.AnswerResize) {
	answer, _ := b.resizes.unanswered.LoadAndDelete(e.ID)
	answer.(chan *admit.Refusal) <- e.Refusal
}
