package shutdown

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/godbus/dbus/v5"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/lifepod/lifepod/internal/mailbox"
)

// DropIns is the folder of logind's drop-ins that a reboot empties: nothing of lifepod stays
// where it was once run.
const DropIns = "/run/systemd/logind.conf.d"

// Config is what a Watcher needs.
type Config struct {
	// Time is how long a shutdown is to be held up at most.
	Time time.Duration
	// Began and Cancelled are told that a shutdown begins, or was cancelled. It may be said
	// more than once; they must not block.
	Began, Cancelled func()
	// Event records an event about the Node; nil: there is nobody to tell.
	Event func(message string)
	// Changed is told that NotReady has another answer.
	Changed func()
	// Record is the file that keeps the times of the last shutdown.
	Record string

	Bus     Bus
	DropIns string // folder of logind's drop-ins
	Log     *slog.Logger
}

// Bus is a D-Bus.
type Bus struct {
	Address string        // empty: the system's
	Answer  time.Duration // how long an answer may take; zero: as long as usual
}

// Watcher holds up shutdowns. Its methods may be called from anywhere, and do not block.
type Watcher struct {
	Config
	takes mailbox.Signal // the lock is to be taken again
	noted mailbox.Signal // the times are to be saved

	mu           sync.Mutex
	lock         *os.File // nil: released, or not taken yet
	shuttingDown bool
	times        times
}

// New prepares a Watcher; Run comes next.
func New(c Config) *Watcher {
	kept, err := loadTimes(c.Record)
	if err != nil {
		c.Log.Warn(err.Error())
	}
	return &Watcher{Config: c, takes: mailbox.NewSignal(), noted: mailbox.NewSignal(), times: kept}
}

// reconnect are the pauses before a lost connection is made again (B-SHD-1); a machine without D-Bus has the longest.
var reconnect = wait.Backoff{Duration: time.Second, Factor: 2, Steps: 10, Cap: 30 * time.Second}

// Run watches until ctx ends. A lost connection is made again, and a shutdown that began or
// was cancelled meanwhile is noticed then.
func (w *Watcher) Run(ctx context.Context) {
	var beside sync.WaitGroup
	defer beside.Wait()
	beside.Go(func() { w.saves(ctx) })
	defer w.swap(nil)
	for pause, logged := reconnect, ""; ctx.Err() == nil; {
		connected, err := w.watch(ctx)
		if ctx.Err() != nil {
			return
		}
		if connected {
			pause, logged = reconnect, ""
		}
		if err.Error() != logged {
			logged = err.Error()
			level := slog.LevelWarn
			if errors.Is(err, fs.ErrNotExist) { // as in a container
				level = slog.LevelInfo
			}
			w.Log.Log(ctx, level, "the machine's shutdown does not wait for pods", "err", err, "rule", "B-SHD-1")
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause.Step()):
		}
	}
}

var errLost = errors.New("the connection to D-Bus was lost")

// watch connects, takes the lock, and tells of shutdowns until the connection is lost.
// Signals are listened to first, so that no shutdown is missed.
func (w *Watcher) watch(ctx context.Context) (connected bool, err error) {
	l, err := connect(ctx, w.Bus.Address, cmp.Or(w.Bus.Answer, defaultAnswer))
	if err != nil {
		return false, err
	}
	defer l.close()
	shuttingDown, err := l.preparing(ctx)
	if err != nil {
		return false, err
	}
	w.heard(shuttingDown)
	if !shuttingDown { // else it is too late for a new lock; one of before still counts
		if err := w.take(ctx, l); err != nil {
			return false, err
		}
	}
	if err := l.raiseDelay(ctx, w.DropIns, w.Time); err != nil {
		w.Log.Warn("pods may have less time to end at the machine's shutdown than they are given", "err", err, "rule", "B-SHD-1")
	}
	w.Log.Info("the machine's shutdown waits for pods", "at most", w.Time, "rule", "B-SHD-1")
	for {
		select {
		case <-ctx.Done():
			return true, ctx.Err()
		case <-w.takes:
			if err := w.take(ctx, l); err != nil {
				return true, err
			}
		case signal, open := <-l.signals:
			if !open {
				return true, errLost
			}
			var began bool
			if dbus.Store(signal.Body, &began) == nil {
				w.tell(began)
			}
		}
	}
}

// heard tells what has changed while nobody listened.
func (w *Watcher) heard(shuttingDown bool) {
	w.mu.Lock()
	known := w.shuttingDown
	w.mu.Unlock()
	if shuttingDown != known {
		w.tell(shuttingDown)
	}
}

func (w *Watcher) tell(shuttingDown bool) {
	if shuttingDown {
		w.Began()
		return
	}
	w.Cancelled()
}

// take takes the lock, and gives one of before back then: there is no moment without one.
func (w *Watcher) take(ctx context.Context, l *logind) error {
	lock, err := l.inhibit(ctx)
	if err != nil {
		return err
	}
	w.swap(lock)
	return nil
}

func (w *Watcher) swap(lock *os.File) {
	w.mu.Lock()
	before := w.lock
	w.lock = lock
	w.mu.Unlock()
	if before != nil {
		_ = before.Close() // a closed one is released
	}
}

// Announce says that pods are being ended because the machine shuts down, or that this was
// cancelled (B-SHD-2).
func (w *Watcher) Announce(cancelled bool) {
	w.mu.Lock()
	w.shuttingDown = !cancelled
	w.mu.Unlock()
	message := "Shutdown manager detected shutdown event"
	if cancelled {
		message = "Shutdown manager detected shutdown cancellation"
	} else {
		w.note(func(t *times) { *t = times{Began: time.Now()} })
	}
	if w.Event != nil {
		w.Event(message)
	}
	w.Changed()
}

// Release lets the machine shut down.
func (w *Watcher) Release() {
	w.note(func(t *times) { t.Ended = time.Now() })
	w.swap(nil)
}

// Take has the next shutdown wait again.
func (w *Watcher) Take() { w.takes.Send() }

var errShuttingDown = errors.New("node is shutting down")

// NotReady is why the node is not Ready, nil if the machine does not shut down (B-SHD-2).
func (w *Watcher) NotReady() error {
	if w == nil {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.shuttingDown {
		return errShuttingDown
	}
	return nil
}
