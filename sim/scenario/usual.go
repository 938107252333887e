package scenario

import "time"

// What happens of which a scenario says nothing.
const (
	UsualInit  = 100 * time.Millisecond // an init container runs
	UsualRun   = time.Second            // other containers that end run
	UsualStop  = 10 * time.Millisecond  // from the stop signal to the exit
	UsualProbe = 2 * time.Millisecond   // an attempt of a probe takes
	UsualPull  = time.Second
	UsualBytes = 10 << 20 // of an image
	// What an instance of a container without requests uses.
	UsualMilliCPU, UsualMemory = 1, 10 << 20
	// UsualStart is the CPU time that its start takes.
	UsualStart = time.Millisecond
	// Carried begins the names of the images that are there without a pull.
	Carried = "lifepod.dev/"
)

// UsualCalls is how long calls and other work take, as with the bundled runtime; what isn't
// listed takes no time, or a time of its own.
var UsualCalls = map[string]time.Duration{
	"EnsureCgroup": time.Millisecond, "MountVolumes": 2 * time.Millisecond, "UnmountVolumes": 2 * time.Millisecond, "RemoveCgroup": time.Millisecond,
	"CreateSandbox": 90 * time.Millisecond, "StopSandbox": 100 * time.Millisecond, "RemoveSandbox": 13 * time.Millisecond, "InspectImage": time.Millisecond,
	"CreateContainer": 4 * time.Millisecond, "StartContainer": 40 * time.Millisecond, "RemoveContainer": 2 * time.Millisecond, "Observe": 2 * time.Millisecond,
}
