// Package footprint keeps small what a control plane that lives for months takes of the machine: its memory (Pace, GiveBack), and
// the processor's time at rest, of which late timers spare a third. For a node alone one limit of garbage is enough (garbage.Little).
package footprint

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/lifepod/lifepod/internal/garbage"
)

// collections is how many there are at most for the sake of stacks: they make 64 KiB 2 KiB.
const collections = 5

// GiveBack returns to the kernel what the heap and stacks don't need now. One collection halves a stack if three quarters of it
// are unused, so several are needed. A program at rest makes hardly any garbage. Go would not collect it for minutes, and thousands of
// goroutines that wait would keep their largest stacks.
func GiveBack() {
	before := stacks()
	for range collections {
		debug.FreeOSMemory()
		after := stacks()
		if after > before-before/16 { // hardly any was too large
			return
		}
		before = after
	}
}

// stacks is how much of memory is stacks of goroutines, in bytes.
func stacks() uint64 { return metric("/memory/classes/heap/stacks:bytes") }

// A program works when collections follow each other this closely, and rests when there
// was none for so long: five times, as many as there are fewer while it works.
const (
	workInterval = 2 * time.Second
	restInterval = 10 * time.Second
)

// How much garbage there may be while a program works: workGarbage percent of what is in
// use, but not more than workBytes, or Go's own limit: the more is in use
// the longer each collection takes.
const (
	workGarbage = 200
	workBytes   = 256 << 20
)

// Pace has the heap collected less often while much is allocated, and gives memory back
// when that is over. What a server makes in a burst is garbage a moment later: with
// little of it allowed, a quarter of the time goes into collections. At rest there is one
// every few minutes, and much garbage would only take memory.
type Pace struct {
	limit     func(percent int)
	giveBack  func()
	inUse     func() uint64
	automatic func() uint64 // how many collections there were that nobody asked for

	mu      sync.Mutex
	ended   bool
	seen    uint64    // so many automatic collections
	last    time.Time // of the last one
	working bool
	rest    *time.Timer // runs while it works
}

// NewPace begins at rest. Stop it. Where the user has said when the heap is collected it
// does nothing.
func NewPace() *Pace {
	p := newPace(garbage.Allow, GiveBack, heapInUse, automaticCollections)
	if os.Getenv("GOGC") == "" {
		p.awaitCollection()
	}
	return p
}

func newPace(limit func(int), giveBack func(), inUse, automatic func() uint64) *Pace {
	p := &Pace{limit: limit, giveBack: giveBack, inUse: inUse, automatic: automatic, seen: automatic(), last: time.Now()}
	p.limit(garbage.Little)
	return p
}

// collection is garbage that the next collection finds.
type collection struct{ of *Pace }

// awaitCollection has collected called after the next collection.
func (p *Pace) awaitCollection() {
	runtime.AddCleanup(&collection{p}, func(p *Pace) {
		if p.collected() {
			p.awaitCollection()
		}
	}, p)
}

// collected files a collection; false: it was stopped. Those that GiveBack asks for follow closely, too, and are no work: it would never
// rest.
func (p *Pace) collected() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return false
	}
	before := p.seen
	if p.seen = p.automatic(); p.seen == before {
		return true
	}
	now := time.Now()
	close := now.Sub(p.last) < workInterval
	p.last = now
	switch {
	case p.working:
		p.rest.Reset(restInterval)
		p.limit(p.percent()) // what is in use has changed
	case close:
		p.working = true
		p.rest = time.AfterFunc(restInterval, p.rests)
		p.limit(p.percent())
	}
	return true
}

// percent is what is allowed while it works.
func (p *Pace) percent() int {
	return int(min(workGarbage, max(garbage.Usual, 100*workBytes/max(1, p.inUse()))))
}

// rests is called when nothing was collected for a while.
func (p *Pace) rests() {
	p.mu.Lock()
	if p.ended || time.Since(p.last) < restInterval { // a collection came first
		p.mu.Unlock()
		return
	}
	p.working = false
	p.limit(garbage.Little)
	p.mu.Unlock()
	p.giveBack() // collects
}

// Stop ends it.
func (p *Pace) Stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended = true; p.rest != nil {
		p.rest.Stop()
	}
}

// heapInUse is what the last collection has left.
func heapInUse() uint64 { return metric("/gc/heap/live:bytes") }

func automaticCollections() uint64 { return metric("/gc/cycles/automatic:gc-cycles") }

// metric is a number that the Go runtime keeps.
func metric(name string) uint64 {
	sample := []metrics.Sample{{Name: name}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// kernelSlack is how late the kernel lets timers be of threads that ask for nothing else.
const kernelSlack = 50 * time.Microsecond

// LateTimers lets timers of this process be late by up to slack while it does nothing else, so that the
// kernel wakes it once for many: control planes have hundreds that tick twice a second. What is read, or
// woken by another goroutine, is as early as before. It is of all threads, and of those that they begin;
// programs would inherit it, but for those that are started OnTime.
func LateTimers(slack time.Duration) error {
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return fmt.Errorf("timers of this process: %w", err)
	}
	for _, thread := range threads {
		path := filepath.Join("/proc", thread.Name(), "timerslack_ns")
		err := os.WriteFile(path, []byte(strconv.FormatInt(slack.Nanoseconds(), 10)), 0)
		if err != nil && !os.IsNotExist(err) && !errors.Is(err, unix.ESRCH) { // a thread that has ended
			return fmt.Errorf("timers of this process: %w", err)
		}
	}
	return nil
}

// OnTime runs start, which starts a program whose timers are not to be late.
func OnTime(start func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	slack, err := unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0)
	if err != nil {
		return fmt.Errorf("timers of a thread: %w", err)
	}
	if err := unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(kernelSlack.Nanoseconds()), 0, 0, 0); err != nil {
		return fmt.Errorf("timers of a thread: %w", err)
	}
	defer func() { _ = unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(slack), 0, 0, 0) }() // as it has just done
	return start()
}
