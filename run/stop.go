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

// stopper turns signals and --timeout into the pod's end. The first signal ends
// it gracefully, the second kills, the third gives up the pod, for a runtime that
// hangs, and its output, for a reader that takes long; before there is a pod, a signal ends the command.
type stopper struct {
	printer *printer
	cancel  context.CancelCauseFunc
	signals chan os.Signal
	done    chan struct{}
	grace   time.Duration

	mu         sync.Mutex
	worker     stoppable
	giveUp     context.CancelCauseFunc
	signaled   int
	lastSignal time.Time
	timedOut   bool
	blockedBy  string // what ended the pod because of --fail-fast
	timer      *time.Timer
}

// stoppable is a pod whose end may be asked for.
type stoppable interface {
	Stop(request lifecycle.StopRequested)
}

func newStopper(p *printer, pod *v1.Pod, cancel context.CancelCauseFunc) *stopper {
	s := &stopper{printer: p, cancel: cancel, signals: make(chan os.Signal, 4), done: make(chan struct{})}
	s.grace = lifecycle.StopRequested{}.Grace(pod)
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
	if s.timedOut || s.blockedBy != "" {
		asked++ // a signal was not the first to ask
	}
	switch {
	case s.worker == nil:
		s.cancel(errInterrupted)
	case asked == 1:
		s.worker.Stop(lifecycle.StopRequested{Because: keyOf(name)})
		s.showGrace()
	case asked == 2:
		s.worker.Stop(lifecycle.StopRequested{Force: true, Because: keyOf(name) + map[bool]string{false: " again"}[name == "SIGQUIT"]})
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

// showGrace counts the pod's grace down, until the command ends.
func (s *stopper) showGrace() {
	deadline := time.Now().Add(s.grace)
	go s.printer.countDown(deadline, s.done)
}

// readerGone ends the pod gracefully: nobody reads its output any more. It is no
// second signal: Ctrl-C ends the reader of a pipe, too.
func (s *stopper) readerGone() { s.stop("standard output is closed") }

// stop ends the pod gracefully, as a first signal does. One that is ending is left to that.
func (s *stopper) stop(because string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ending() {
		return
	}
	s.signaled++
	s.lastSignal = time.Now()
	if s.worker == nil {
		s.cancel(errInterrupted)
		return
	}
	s.worker.Stop(lifecycle.StopRequested{Because: because})
	s.showGrace()
}

// attach gives the pod's worker to the stopper, and begins --timeout.
func (s *stopper) attach(w stoppable, giveUp context.CancelCauseFunc, timeout time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.worker, s.giveUp = w, giveUp
	if s.signaled > 0 {
		w.Stop(lifecycle.StopRequested{Because: "interrupted"})
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
		s.worker.Stop(lifecycle.StopRequested{Because: "--timeout " + after.String()})
		s.showGrace()
	}
}

// blocked ends the pod because of --fail-fast.
func (s *stopper) blocked(why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ending() {
		s.blockedBy = why
		s.printer.hurry()
		s.worker.Stop(lifecycle.StopRequested{Because: "--fail-fast"})
		s.showGrace()
	}
}

// failure is why the pod was ended by --fail-fast, nil if it was not.
func (s *stopper) failure(pod *v1.Pod) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.blockedBy == "" {
		return nil
	}
	return fmt.Errorf("pod %s/%s can't start: %s", pod.Namespace, pod.Name, cri.Reason(s.blockedBy))
}

// ending says that the pod's end was asked for. Called with mu held.
func (s *stopper) ending() bool { return s.signaled > 0 || s.timedOut || s.blockedBy != "" }

// exitCode is code, unless the pod was ended from outside.
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
