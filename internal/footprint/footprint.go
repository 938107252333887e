// Package footprint keeps small what a program that lives for months takes of the
// machine: its memory, and the processor's time at rest. A node has minutes in which a hundred pods begin, and then
// hours in which nothing happens: the heap that those minutes took, and the pages of
// the program's own file that only its start has read, would stay.
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
	files *time.Timer               // runs while nothing has happened since
	quiet atomic.Bool               // nothing has
}

// restsApart is how many times as long as memory takes to be given back it is not given back again: 30 ms with little in use, some
// tenths of a second with much. Where something happens all the time that costs one percent of a processor.
const restsApart = 100

// filesEvery is how often a program at rest looks whether pages of files have come back.
const filesEvery = time.Second

// NewRest is a Rest that counts from now. If files is true, pages of files that come back are let go as well, from when memory was
// given back until something happens: what a program does at rest, such as a Lease every ten seconds, needs hundreds of places of its
// file, and with each the kernel maps the 64 KiB around it. A program that never rests needs them all the time. Stop it.
func NewRest(after time.Duration, files bool) *Rest {
	if files {
		return newRest(after, filesEvery, GiveBack, forgetGrown())
	}
	return newRest(after, 0, GiveBack, nil)
}

// newRest is NewRest whose files are looked at so often, if that is more than 0.
func newRest(after, files time.Duration, giveBack, forget func()) *Rest {
	r := &Rest{after: after}
	r.files = time.AfterFunc(time.Hour, func() {
		if r.quiet.Load() {
			forget()
			r.files.Reset(files)
		}
	})
	r.files.Stop()
	r.timer = time.AfterFunc(after, func() {
		began := time.Now()
		r.quiet.Store(true)
		giveBack()
		ended := time.Now()
		next := ended.Add(restsApart * ended.Sub(began))
		r.next.Store(&next)
		if files > 0 {
			r.files.Reset(files)
		}
	})
	return r
}

// Stir says that something has happened. It is quick, and may be called by several
// at the same time.
func (r *Rest) Stir() {
	r.quiet.Store(false)
	after := r.after
	if next := r.next.Load(); next != nil {
		after = max(after, time.Until(*next))
	}
	r.timer.Reset(after)
}

// Stop ends it.
func (r *Rest) Stop() {
	r.quiet.Store(false)
	r.timer.Stop()
	r.files.Stop()
}

// GiveBack returns to the kernel what the heap and stacks don't need now, and all pages of
// files that are mapped. What is needed of them comes back by itself, from the page
// cache.
func GiveBack() {
	collect()
	ForgetFiles()
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

// Aside makes a request on a stack of its own. It takes 16 KiB and more, which whoever makes requests only now and then need not keep.
func Aside[T any](request func() (T, error)) (answer T, err error) {
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		answer, err = request()
	}()
	<-answered
	return answer, err
}
