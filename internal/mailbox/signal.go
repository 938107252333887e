package mailbox

// Signal tells a goroutine that there is something to do, which is kept elsewhere: those that are sent before
// it receives one are one. Use NewSignal.
type Signal chan struct{}

// NewSignal is a signal that nobody has sent.
func NewSignal() Signal { return make(Signal, 1) }

// Send never blocks.
func (s Signal) Send() {
	select {
	case s <- struct{}{}:
	default:
	}
}
