// Package garbage says when the heap is collected. The user's own limits, GOGC and GOMEMLIMIT, hold nevertheless.
package garbage

import (
	"os"
	"runtime/debug"
	"sync/atomic"
)

// How much garbage there may be, in percent of what is in use.
const (
	// Seldom is for who makes at its start what it then keeps, or keeps hardly anything of what it makes. Against 150, a start
	// of lifepod up takes a fifth less CPU and no more memory; without any collection it would take 130 MiB more, and
	// hardly less time.
	Seldom = 400
	// Usual is Go's own.
	Usual = 100
	// Little is for who lives for months, has little in use and makes little garbage, but for the minutes in which many
	// pods begin: the collector takes hardly any more time for it, and a node at rest is less than half as large.
	Little = 40
)

var allowed atomic.Bool

// Allow has the heap collected when there is so much garbage, in percent of what is in use.
func Allow(percent int) {
	allowed.Store(true)
	set(percent)
}

// Suppose is Allow for who does not know what the program does: it gives way to what was allowed.
func Suppose(percent int) {
	if !allowed.Load() {
		set(percent)
	}
}

func set(percent int) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(percent)
	}
}
