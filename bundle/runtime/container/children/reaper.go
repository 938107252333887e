// Package children reaps the children of a shim beside the library of runc, which waits for its own.
package children

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"time"

	"github.com/containerd/containerd/v2/pkg/sys/reaper"
	"github.com/containerd/log"
	"golang.org/x/sys/unix"
)

// Reaper reaps the children of a shim, as containerd's shim does, for package reaper. That takes
// whichever child has ended, and runc's library waits for its own: while a process is being
// made, other children that end wait.
type Reaper struct {
	mu      sync.Mutex
	begun   int           // processes that are being made
	none    chan struct{} // closed when begun falls to 0; nil if nobody waits for that
	reaping chan struct{} // closed when others may begin again; nil if they may
}

// A child that has ended is reaped when no process is being made. After politePatience no further
// process may begin until it is; after reapPatience it is reaped all the same, and a process that
// is still in its very first steps then fails.
const (
	politePatience = 50 * time.Millisecond
	reapPatience   = 10 * time.Second
)

// Start reaps children until the context ends, beginning before it returns.
func (r *Reaper) Start(ctx context.Context) {
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, unix.SIGCHLD)
	go func() {
		defer signal.Stop(ended)
		for {
			select {
			case <-ctx.Done():
				return
			case <-ended:
				r.alone(ctx, politePatience, reapPatience, func() {
					if err := reaper.Reap(); err != nil {
						log.G(ctx).WithError(err).Error("reap exit status")
					}
				})
			}
		}
	}()
}

// Making says that a process is being made: no child is reaped until done is called.
func (r *Reaper) Making() (done func()) {
	for {
		r.mu.Lock()
		wait := r.reaping
		if wait == nil {
			r.begun++
			r.mu.Unlock()
			return r.made
		}
		r.mu.Unlock()
		<-wait
	}
}

func (r *Reaper) made() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.begun--; r.begun == 0 && r.none != nil {
		close(r.none)
		r.none = nil
	}
}

// alone calls do while no process is being made. It waits for that: for some time without, and
// then with keeping others from beginning, and not for ever.
func (r *Reaper) alone(ctx context.Context, polite, patience time.Duration, do func()) {
	r.awaitNone(polite)
	r.mu.Lock()
	r.reaping = make(chan struct{})
	r.mu.Unlock()
	if !r.awaitNone(patience) {
		log.G(ctx).Warn("a process takes long to be made: children are reaped beside it")
	}
	do()
	r.mu.Lock()
	defer r.mu.Unlock()
	close(r.reaping)
	r.reaping = nil
}

// awaitNone says whether no process is being made, or none was within some time.
func (r *Reaper) awaitNone(patience time.Duration) bool {
	r.mu.Lock()
	if r.begun == 0 {
		r.mu.Unlock()
		return true
	}
	none := make(chan struct{})
	r.none = none
	r.mu.Unlock()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-none:
		return true
	case <-timer.C:
		return false
	}
}
