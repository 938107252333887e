// Package footprint keeps small what a program that lives for months takes of the
// machine: its memory, and the processor's time at rest. A node has minutes in which a hundred pods begin, and then
// hours in which nothing happens: the heap that those minutes took would stay.
package footprint

import (
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/lifepod/lifepod/internal/garbage"
)

// atRest is how much garbage there may be, in percent of what is in use. Go's own
// limit is 100. A node has little in use and makes little garbage, so that the
// collector takes hardly any more time for it.
const atRest = 40

// AllowGarbage has the heap collected hardly ever, until a Pace begins.
func AllowGarbage() { garbage.Allow(garbage.Seldom) }

// Rest gives memory back each time that nothing has happened for a while.
type Rest struct {
	after time.Duration
	timer *time.Timer
	next  atomic.Pointer[time.Time] // before which memory is not given back again; nil at first
}

// restsApart is how many times as long as memory takes to be given back it is not given back again: 30 ms with little in use, some
// tenths of a second with much. Where something happens all the time that costs one percent of a processor.
const restsApart = 100

// NewRest is a Rest that counts from now. Stop it.
func NewRest(after time.Duration) *Rest { return newRest(after, GiveBack) }

func newRest(after time.Duration, giveBack func()) *Rest {
	r := &Rest{after: after}
	r.timer = time.AfterFunc(after, func() {
		began := time.Now()
		giveBack()
		ended := time.Now()
		next := ended.Add(restsApart * ended.Sub(began))
		r.next.Store(&next)
	})
	return r
}

// Stir says that something has happened. It is quick, and may be called by several
// at the same time.
func (r *Rest) Stir() {
	after := r.after
	if next := r.next.Load(); next != nil {
		after = max(after, time.Until(*next))
	}
	r.timer.Reset(after)
}

// Stop ends it.
func (r *Rest) Stop() { r.timer.Stop() }

// GiveBack returns to the kernel what the heap and stacks don't need now.
func GiveBack() {
	collect()
	ended := time.Now()
	givenBack.Store(&ended)
}

var givenBack atomic.Pointer[time.Time] // when GiveBack ended last

// giveBackUnless is GiveBack if nobody has called that since then.
func giveBackUnless(since time.Time) {
	if last := givenBack.Load(); last == nil || last.Before(since) {
		GiveBack()
	}
}

// collections is how many there are at most for the sake of stacks: they make 64 KiB 2 KiB.
const collections = 5

// collect returns garbage to the kernel, and unused parts of stacks. One collection halves a stack if three quarters of it
// are unused, so several are needed. A program at rest makes hardly any garbage. Go would not collect it for minutes, and thousands of
// goroutines that wait would keep their largest stacks.
func collect() {
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
