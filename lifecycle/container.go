package lifecycle

import (
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/lifecycle/backoff"
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
	return newContainer(role{spec: spec, kind: k})
}

func newContainer(of role) *container { return &container{role: of, Name: of.spec.Name} }

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
	role            // the pod's spec has it
	Name     string `json:"name"`
	instance `json:"instance"`
	history

	Actuated v1.ResourceRequirements `json:"actuated,omitzero"` // that the newest instance was made with, or resized to
	Image    image                   `json:"image,omitzero"`
	Failure  *Failure                `json:"failure,omitempty"` // why the last start attempt failed (A-CST-6)
	RetryAt  time.Time               `json:"retryAt,omitzero"`  // no start before
	Outdated bool                    `json:"outdated,omitzero"` // its newest instance was made for an image that is not the spec's any more

	stopping stopping // asked for again, with what is left of its deadline (B-WRK-10)
	removal  removal  // removing twice is removing once
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
	RestartCount int32                        `json:"restartCount,omitzero"`
	Failures     int32                        `json:"failures,omitzero"`   // exits in a row that were failures
	Last         *v1.ContainerStateTerminated `json:"last,omitempty"`      // status lastState: the instance before
	LastDone     bool                         `json:"lastDone,omitzero"`   // it had completed
	PreviousID   string                       `json:"previousID,omitzero"` // that instance's record in the runtime
	BackOff      backoff.Place                `json:"backOff,omitzero"`
	RoundBackOff backoff.Place                `json:"roundBackOff,omitzero"` // of restarts of all that this container has caused
	RestartedAt  []time.Time                  `json:"restartedAt,omitempty"` // restarts that count for its limit
}

// instance is one run of a container.
type instance struct {
	Position  position                     `json:"position"`
	ID        string                       `json:"id,omitzero"`
	StartedAt time.Time                    `json:"startedAt,omitzero"` // by the wall clock, as the status shows it
	Since     time.Time                    `json:"since,omitzero"`     // the same on the machine's own clock
	Exit      *v1.ContainerStateTerminated `json:"exit,omitempty"`     // set when exited
	EndedAt   time.Time                    `json:"endedAt,omitzero"`   // on the machine's own clock: when it exited; when that became known if the runtime does not say
	Asked     bool                         `json:"asked,omitzero"`     // it was being stopped
	Verdict   verdict                      `json:"verdict,omitzero"`   // decided once, at the exit
	PostStart hookRun                      `json:"postStart,omitzero"`
	Ending    bool                         `json:"stopping,omitzero"`  // the Killing event was recorded, its preStop hook has begun if it has one
	Kill      *kill                        `json:"kill,omitempty"`     // it alone is to end; nil: it is not
	Probes    [3]probe                     `json:"probes,omitzero"`    // by ProbeKind
	Requested bool                         `json:"requested,omitzero"` // its restart was asked for: at once, and not counted
	CutOff    bool                         `json:"cutOff,omitzero"`    // lifepod was killed while it was being started
	NextBegun bool                         `json:"nextBegun,omitzero"` // a create of the next one had no answer and left nothing so far: it may be carried out late
	reportedState

	underWay // a create or start
}

// underWay is a call of the runtime, under way or just answered. When lifepod is killed
// its answer is lost: what it has come to is looked for, and each snapshot is newer.
type underWay struct {
	op        EffectID // 0: none is under way
	touchedAt time.Time
}

// reportedState is what the runtime reports of an instance.
type reportedState struct {
	ImageName string                   `json:"imageName,omitzero"` // A-CST-4
	ImageRef  string                   `json:"imageRef,omitzero"`
	User      *v1.ContainerUser        `json:"user,omitempty"`
	Reported  *v1.ResourceRequirements `json:"reported,omitempty"` // its resources; nil: nothing yet
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
	switch c.Position {
	case absent, created, exited:
		return false
	}
	return true
}

// done says that a regular init container has completed. One whose child was
// killed for memory has not, whatever its exit code (A-INIT-6).
func (c *container) done() bool {
	return c.Position == exited && c.succeeded(c.Exit)
}

// succeeded judges an exit of the container. Only an init container's success
// is denied by an OOM kill of a child (A-INIT-6, B-OOM-2): the API refuses to
// see any other container leave exit code 0 under OnFailure (A-API-4).
func (c *container) succeeded(t *v1.ContainerStateTerminated) bool {
	if c.Verdict.Complete {
		return true
	}
	return t.ExitCode == 0 && (c.kind != initContainer || t.Reason != reasonOOMKilled)
}

const reasonOOMKilled = "OOMKilled"
