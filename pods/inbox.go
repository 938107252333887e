package pods

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lifepod/lifepod/internal/mailbox"
	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/roster"
	"github.com/lifepod/lifepod/roster/pressure"
)

// Inbox takes facts about the pods of a node. It is there before the Shell that reads it,
// for the parts that the shell is made of.
type Inbox struct {
	mail    *mailbox.Mailbox[any] // of roster.Fact, question, or devicesChanged
	closed  chan struct{}         // closed when nothing is taken from the mailbox any more
	resizes resizes
}

// NewInbox is an empty one, for one Shell.
func NewInbox() *Inbox {
	return &Inbox{mail: mailbox.New[any](), closed: make(chan struct{})}
}

// Wanted takes a pod of a source as it is now.
func (b *Inbox) Wanted(from roster.Source, newer *v1.Pod) {
	b.mail.Post(roster.Wanted{Source: from, Pod: newer})
}

// Unwanted takes that a source has a pod no longer.
func (b *Inbox) Unwanted(_ roster.Source, uid types.UID) { b.mail.Post(roster.Unwanted{UID: uid}) }

// Heard takes that a source has reported all that it had.
func (b *Inbox) Heard(from roster.Source) { b.mail.Post(roster.SourceHeard{Source: from}) }

// ShutdownBegan takes that the machine is about to shut down, and waits for the pods.
func (b *Inbox) ShutdownBegan() { b.mail.Post(roster.ShutdownBegan{}) }

// ShutdownCancelled takes that the machine does not shut down after all.
func (b *Inbox) ShutdownCancelled() { b.mail.Post(roster.ShutdownCancelled{}) }

// NodeMeasured takes what the node has left of what may run short.
func (b *Inbox) NodeMeasured(seen pressure.Observations, disks pressure.Disks) {
	b.mail.Post(roster.NodeMeasured{Seen: seen, Disks: disks})
}

// ObjectsChanged tells a pod that what it uses has changed.
func (b *Inbox) ObjectsChanged(uid types.UID, because lifecycle.Because) {
	b.mail.Post(roster.ObjectsChanged{UID: uid, Because: because})
}
