package lifecycle

import (
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
)

// kind is the role of a container in its pod.
type kind int

const (
	initContainer    kind = iota // runs to completion before the next begins
	sidecarContainer             // init container with restartPolicy Always (KEP-753)
	regularContainer
	ephemeralContainer // added to a pod that runs; runs once (A-ACT-5)
)

func newInitContainer(spec *v1.Container) *container {
	k := initContainer
	if spec.RestartPolicy != nil && *spec.RestartPolicy == v1.ContainerRestartPolicyAlways {
		k = sidecarContainer
	}
	return &container{role: role{spec: spec, kind: k}}
}

// position is where the newest instance of a container is. It is explicit
// state: never guessed from what the runtime happens to have.
type position int

const (
	absent    position = iota // there is no instance
	creating                  // CreateContainer is under way
	created                   // created, to be started
	starting                  // StartContainer is under way
	running                   // its process runs
	exited                    // its process has ended; exit says how
	uncertain                 // a call ended without an answer; waits for Observed
)

func (p position) String() string {
	return [...]string{"absent", "creating", "created", "starting", "running", "exited", "uncertain"}[p]
}

// container is one container of the pod and its newest instance.
type container struct {
	role
	instance
	history

	actuated v1.ResourceRequirements // that the newest instance was made with, or resized to
	image    image
	failure  *Failure  // why the last start attempt failed (A-CST-6)
	retryAt  time.Time // no start before
	stopping stopping
	removal  removal
	outdated bool // its newest instance was made for an image that is not the spec's any more
}

// role is what the pod's spec says of a container; it does not change but by resizes.
type role struct {
	spec   *v1.Container
	kind   kind
	target string // of an ephemeral container: whose processes it sees; may be empty
	tuning tuning
}

// history is what is known of the instances before the newest.
type history struct {
	restartCount int32
	failures     int32                        // exits in a row that were failures
	last         *v1.ContainerStateTerminated // status lastState: the instance before
	lastDone     bool                         // it had completed
	previousID   string                       // that instance's record in the runtime
	backOff      backOff
	roundBackOff backOff     // of restarts of all that this container has caused
	restartedAt  []time.Time // restarts that count for its limit
}

// instance is one run of a container.
type instance struct {
	position  position
	id        string
	op        EffectID // create or start under way
	touchedAt time.Time
	startedAt time.Time                    // by the wall clock, as the status shows it
	since     time.Time                    // the same on the machine's own clock
	exit      *v1.ContainerStateTerminated // set when exited
	endedAt   time.Time                    // on the machine's own clock: when it exited; when that became known if the runtime does not say
	asked     bool                         // it was being stopped
	restart   verdict                      // decided once, at the exit
	postStart hookRun
	kill      *kill    // it alone is to end; nil: it is not
	probes    [3]probe // by ProbeKind
	requested bool     // its restart was asked for: at once, and not counted
	cutOff    bool     // lifepod was killed while it was being started
	nextBegun bool     // a create of the next one had no answer and left nothing so far: it may be carried out late
	reportedState
}

// reportedState is what the runtime reports of an instance.
type reportedState struct {
	imageName string // A-CST-4
	imageRef  string
	user      *v1.ContainerUser
	reported  *v1.ResourceRequirements // its resources; nil: nothing yet
}

func (c *container) clone(spec *v1.Container) *container {
	n := *c
	n.spec = spec
	n.exit = c.exit.DeepCopy()
	n.last = c.last.DeepCopy()
	n.restartedAt = slices.Clone(c.restartedAt)
	n.user = c.user.DeepCopy()
	n.actuated, n.reported = *c.actuated.DeepCopy(), c.reported.DeepCopy()
	n.failure = cloneOf(c.failure)
	n.image.refused = cloneOf(c.image.refused)
	return &n
}

func cloneOf[T any](p *T) *T {
	if p == nil {
		return nil
	}
	v := *p
	return &v
}

// fieldPath is how Kubernetes Events point at a container (A-EVT-1).
func (c *container) fieldPath() string {
	switch c.kind {
	case regularContainer:
		return "spec.containers{" + c.spec.Name + "}"
	case ephemeralContainer:
		return "spec.ephemeralContainers{" + c.spec.Name + "}"
	}
	return "spec.initContainers{" + c.spec.Name + "}"
}

// mayRun says whether a process of the container may exist.
func (c *container) mayRun() bool {
	switch c.position {
	case absent, created, exited:
		return false
	}
	return true
}

// done says that a regular init container has completed. One whose child was
// killed for memory has not, whatever its exit code (A-INIT-6).
func (c *container) done() bool {
	return c.position == exited && c.succeeded(c.exit)
}

// succeeded judges an exit of the container. Only an init container's success
// is denied by an OOM kill of a child (A-INIT-6, B-OOM-2): the API refuses to
// see any other container leave exit code 0 under OnFailure (A-API-4).
func (c *container) succeeded(t *v1.ContainerStateTerminated) bool {
	if c.restart.complete {
		return true
	}
	return t.ExitCode == 0 && (c.kind != initContainer || t.Reason != reasonOOMKilled)
}

const reasonOOMKilled = "OOMKilled"
