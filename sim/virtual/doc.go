// Package virtual is time that the pods of simulated nodes live in: it goes a number of times as fast as everybody's, or
// somebody moves it on by hand. Only pods live in it. What the API server is told, and when it is asked, is in real time:
// Real and Of convert.
package virtual

import (
	"time"

	"github.com/lifepod/lifepod/worker"
)

// Time is one that differs from the real one.
type Time interface {
	worker.Virtual
	// Real is when something really happens, or has happened, that has this time, maybe without what it has of a
	// second: times of the API are whole seconds. What was before the beginning has kept its time.
	Real(of time.Time) time.Time
	// Of is the time of something that really happens, or has happened, at this one.
	Of(real time.Time) time.Time
}

var _, _ Time = &Scaled{}, &Manual{}
