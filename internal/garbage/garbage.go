// Package garbage says when the heap is collected. The user's own limits, GOGC and GOMEMLIMIT, hold nevertheless.
package garbage

import (
	"os"
	"runtime/debug"
	"sync/atomic"
	"time"
)

// How much garbage there may be, in percent of what is in use.
const (
	// Seldom is for who makes at its start what it then keeps, or keeps hardly anything of what it makes. Against 150, a start
	// of lifepod up takes a fifth less CPU and no more memory; without any collection it would take 130 MiB more, and
	// hardly less time.
	Seldom = 400
	// Usual is Go's own.
	Usual = 100
)

// beginTime is for how long a command that does not say otherwise is one that ends soon.
const beginTime = 5 * time.Second

var allowed atomic.Bool

// What packages make before main is kept, and is not worth two collections: a command is there a fifth sooner without them.
// This package is initialized before those that make much, by its path.
func init() { set(Seldom) }

// Begin is called once, by main. A command that takes long gets Go's usual limit, unless it allows another one.
func Begin() {
	time.AfterFunc(beginTime, func() {
		if !allowed.Load() {
			set(Usual)
		}
	})
}

// Allow has the heap collected when there is so much garbage, in percent of what is in use.
func Allow(percent int) {
	allowed.Store(true)
	set(percent)
}

func set(percent int) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(percent)
	}
}
