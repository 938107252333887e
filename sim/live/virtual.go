package live

import (
	"time"

	"github.com/lifepod/lifepod/worker"
)

// VirtualTime is one that differs from the real one.
type VirtualTime interface {
	worker.Virtual
	// Real is when something really happens, or has happened, that has this time, maybe without what it has of a
	// second: times of the API are whole seconds. What was before the beginning has kept its time.
	Real(of time.Time) time.Time
	// Of is the time of something that really happens, or has happened, at this one.
	Of(real time.Time) time.Time
}

var _, _ VirtualTime = &Scaled{}, &Manual{}
