package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"time"

	"golang.org/x/sys/unix"
	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/cri"
	"github.com/lifepod/lifepod/internal/commandline"
	"github.com/lifepod/lifepod/lifecycle"
)

var (
	errInterrupted = errors.New("interrupted")
	errGivenUp     = errors.New("gave up waiting for the pod's end: lifepod stop POD, or a run of the same manifests, goes on with it")
)

// stopper turns signals and --timeout into the end of the run's pods. The first signal ends
// them gracefully, the second kills, the third gives up the pods, for a runtime that
// hangs, and their output, for a reader that takes long; before there are pods, a signal ends the command.
type stopper struct {
	printer *printer
	cancel  context.CancelCauseFunc
	signals chan os.Signal
	done    chan struct{}
	grace   time.Duration

	mu         sync.Mutex
	pods       stoppable
	giveUp     context.CancelCauseFunc
	signaled   int
	lastSignal time.Time
	timedOut   bool
	failed     error // what ended the pods, such as --fail-fast
	timer      *time.Timer
}

// stoppable are pods whose end may be asked for.
type stoppable interface {
	Stop(request lifecycle.StopRequested)
}

func newStopper(p *printer, pods []*v1.Pod, cancel context.CancelCauseFunc) *stopper {
	s := &stopper{printer: p, cancel: cancel, signals: make(chan os.Signal, 4), done: make(chan struct{})}
	for _, pod := range pods {
		s.grace = max(s.grace, lifecycle.StopRequested{}.Grace(pod))
	}
	p.onBroken(s.readerGone)
	signal.Notify(s.signals, commandline.EndSignals()...)
	go s.listen()
	return s
}

func (s *stopper) listen() {
	for {
		select {
		case sig := <-s.signals:
			s.signal(unix.SignalName(sig.(unix.Signal)))
		case <-s.done:
			return
		}
	}
}

// sameSignal is how close two signals are one: a program that sends a signal to
// the process and to its group, as timeout(1) does, has not asked twice.
const sameSignal = 100 * time.Millisecond

func (s *stopper) signal(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Since(s.lastSignal) < sameSignal {
		return
	}
	s.lastSignal = time.Now()
	s.signaled++
	if name == "SIGQUIT" {
		s.signaled = max(s.signaled, 2) // it kills at once
	}
	s.printer.hurry()
	asked := s.signaled
	if s.timedOut || s.failed != nil {
		asked++ // a signal was not the first to ask
	}
	switch {
	case s.pods == nil:
		s.cancel(errInterrupted)
	case asked == 1:
		s.pods.Stop(lifecycle.StopRequested{Because: lifecycle.Because{Text: keyOf(name)}})
		s.showGrace()
	case asked == 2:
		because := lifecycle.Because{Kind: "again", Text: keyOf(name)}
		if name == "SIGQUIT" {
			because.Kind = ""
		}
		s.pods.Stop(lifecycle.StopRequested{Force: true, Because: because})
		s.printer.endCountDown()
	default:
		s.giveUp(errGivenUp)
		s.printer.abandon()
	}
}

// keyOf is how people know a signal; the countdown says what another one does.
func keyOf(name string) string {
	return cmp.Or(map[string]string{"SIGINT": "Ctrl-C", "SIGQUIT": `Ctrl-\`}[name], name)
}

// showGrace counts the longest grace down, until the command ends.
func (s *stopper) showGrace() {
	deadline := time.Now().Add(s.grace)
	go s.printer.countDown(deadline, s.done)
}

// readerGone ends the pods gracefully: nobody reads its output any more. It is no
// second signal: Ctrl-C ends the reader of a pipe, too.
func (s *stopper) readerGone() { s.stop(lifecycle.Because{Kind: "standard-output-is-closed"}) }

// stop ends the pods gracefully, as a first signal does. If they are ending they are left to that.
func (s *stopper) stop(because lifecycle.Because) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ending() {
		return
	}
	s.signaled++
	s.lastSignal = time.Now()
	if s.pods == nil {
		s.cancel(errInterrupted)
		return
	}
	s.pods.Stop(lifecycle.StopRequested{Because: because})
	s.showGrace()
}

// attach gives the pods to the stopper, and begins --timeout.
func (s *stopper) attach(pods stoppable, giveUp context.CancelCauseFunc, timeout time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pods, s.giveUp = pods, giveUp
	if s.signaled > 0 {
		pods.Stop(lifecycle.StopRequested{Because: lifecycle.Because{Kind: "interrupted"}})
	}
	if timeout > 0 {
		s.timer = time.AfterFunc(timeout, func() { s.timeout(timeout) })
	}
}

func (s *stopper) timeout(after time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ending() {
		s.timedOut = true
		s.printer.hurry()
		s.pods.Stop(lifecycle.StopRequested{Because: lifecycle.Because{Text: "--timeout " + after.String()}})
		s.showGrace()
	}
}

// blocked ends the pods because of --fail-fast: one of them can't start.
func (s *stopper) blocked(pod *v1.Pod, why string) {
	s.fail(fmt.Errorf("pod %s/%s can't start: %s", pod.Namespace, pod.Name, cri.Reason(why)), lifecycle.Because{Text: "--fail-fast"})
}

// fail ends the pods because of an error.
func (s *stopper) fail(err error, because lifecycle.Because) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ending() {
		s.failed = err
		s.printer.hurry()
		s.pods.Stop(lifecycle.StopRequested{Because: because})
		s.showGrace()
	}
}

// failure is the error that has ended the pods, nil if none has.
func (s *stopper) failure() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failed
}

// ending says that the pods' end was asked for. Called with mu held.
func (s *stopper) ending() bool { return s.signaled > 0 || s.timedOut || s.failed != nil }

// exitCode is code, unless the pods were ended from outside.
func (s *stopper) exitCode(code int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.timedOut:
		return ExitTimeout
	case s.signaled > 0:
		return ExitInterrupted
	}
	return code
}

// unlessInterrupted hides the errors that follow from a signal.
func (s *stopper) unlessInterrupted(err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.signaled > 0 {
		return nil
	}
	return err
}

func (s *stopper) close() {
	signal.Stop(s.signals)
	close(s.done)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.timer != nil {
		s.timer.Stop()
	}
}
