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
	ephemeralContainer // added to a running pod; runs once (A-ACT-5)
)

// IsSidecar says whether an init container runs on beside the others (KEP-753).
func IsSidecar(c *v1.Container) bool {
	return c.RestartPolicy != nil && *c.RestartPolicy == v1.ContainerRestartPolicyAlways
}

// EndsBeforeOthers says whether a container of a pod is an init container and no sidecar.
func EndsBeforeOthers(pod *v1.Pod, c *v1.Container) bool {
	return slices.ContainsFunc(pod.Spec.InitContainers, func(init v1.Container) bool { return init.Name == c.Name && !IsSidecar(&init) })
}

func newInitContainer(spec *v1.Container) *container {
	k := initContainer
	if IsSidecar(spec) {
		k = sidecarContainer
	}
	return newContainer(role{spec: spec, kind: k})
}

func newContainer(of role) *container { return &container{role: of, Name: of.spec.Name} }

// position is the state of a container's newest instance. It is kept explicitly, never
// guessed from what the runtime happens to have.
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
	role            // from the pod's spec
	Name     string `json:"name"`
	instance `json:"instance"`
	history

	Actuated v1.ResourceRequirements `json:"actuated,omitzero"` // resources that the newest instance was created with or resized to
	Image    image                   `json:"image,omitzero"`
	Failure  *Failure                `json:"failure,omitempty"` // why the last start attempt failed (A-CST-6)
	RetryAt  time.Time               `json:"retryAt,omitzero"`  // earliest next start
	Outdated bool                    `json:"outdated,omitzero"` // the newest instance was created for an image that the spec no longer has

	stopping stopping // on resume it is asked for again, with what is left of its deadline (B-WRK-10)
	removal  removal  // on resume it is asked for again, which is harmless
}

// role is what the pod's spec says about a container; only updates and resizes change it.
type role struct {
	spec   *v1.Container
	kind   kind
	target string // ephemeral containers: the container whose processes it sees; may be empty
	tuning tuning
}

// history is what is known about the instances before the newest.
type history struct {
	RestartCount      int32                        `json:"restartCount,omitzero"`
	Failures          int32                        `json:"failures,omitzero"`   // consecutive exits that were failures
	Last              *v1.ContainerStateTerminated `json:"last,omitempty"`      // lastState in the status: the previous instance
	LastDone          bool                         `json:"lastDone,omitzero"`   // the previous instance had completed
	PreviousID        string                       `json:"previousID,omitzero"` // the previous instance's record in the runtime
	BackOff           BackoffPlace                 `json:"backOff,omitzero"`
	RestartAllBackOff BackoffPlace                 `json:"roundBackOff,omitzero"` // of the restarts of all containers that this one caused
	RestartedAt       []time.Time                  `json:"restartedAt,omitempty"` // restarts that count towards its limit
}

// instance is one run of a container.
type instance struct {
	Position  position                     `json:"position"`
	ID        string                       `json:"id,omitzero"`
	StartedAt time.Time                    `json:"startedAt,omitzero"` // by the wall clock, as the status shows it
	Since     time.Time                    `json:"since,omitzero"`     // StartedAt on the machine's own clock
	Exit      *v1.ContainerStateTerminated `json:"exit,omitempty"`     // set when exited
	EndedAt   time.Time                    `json:"endedAt,omitzero"`   // exit time on the machine's own clock; if the runtime does not say, when the exit became known
	Asked     bool                         `json:"asked,omitzero"`     // it was being stopped when it exited
	Verdict   verdict                      `json:"verdict,omitzero"`   // decided once, at the exit
	PostStart hookRun                      `json:"postStart,omitzero"`
	Ending    bool                         `json:"stopping,omitzero"`  // the Killing event was recorded, and the preStop hook, if any, has begun
	Kill      *kill                        `json:"kill,omitempty"`     // set when this container alone must end
	Probes    [3]probe                     `json:"probes,omitzero"`    // by ProbeKind
	Requested bool                         `json:"requested,omitzero"` // somebody asked for its restart: at once, and not counted
	CutOff    bool                         `json:"cutOff,omitzero"`    // lifepod was killed while starting it
	NextBegun bool                         `json:"nextBegun,omitzero"` // the create of the next instance had no answer and has left nothing so far; it may still happen
	reportedState

	underWay // a create or start
}

// underWay is a call to the runtime that is under way or was just answered. When lifepod
// is killed the answer is lost: the next one looks for the result, and each of its
// snapshots is newer than the call.
type underWay struct {
	op        EffectID // 0: none is under way
	touchedAt time.Time
}

// reportedState is what the runtime reports of an instance.
type reportedState struct {
	ImageName string                   `json:"imageName,omitzero"` // A-CST-4
	ImageRef  string                   `json:"imageRef,omitzero"`
	User      *v1.ContainerUser        `json:"user,omitempty"`
	Reported  *v1.ResourceRequirements `json:"reported,omitempty"` // its resources; nil: not reported yet
}

func cloneOf[T any](p *T) *T {
	if p == nil {
		return nil
	}
	v := *p
	return &v
}

// fieldPath is how Kubernetes Events refer to a container (A-EVT-1).
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

// done says whether a regular init container has completed. It has not if a child process
// was killed for memory, whatever its exit code (A-INIT-6).
func (c *container) done() bool {
	return c.Position == exited && c.succeeded(c.Exit)
}

// succeeded says whether an exit counts as success. An OOM kill of a child process denies
// success only to init containers (A-INIT-6, B-OOM-2): the API does not let any other
// container restart after exit code 0 under OnFailure (A-API-4).
func (c *container) succeeded(t *v1.ContainerStateTerminated) bool {
	if c.Verdict.Complete {
		return true
	}
	return t.ExitCode == 0 && (c.kind != initContainer || t.Reason != reasonOOMKilled)
}

const reasonOOMKilled = "OOMKilled"

// advanceInit moves the turn past the init containers that are through: a
// regular one when it has completed, a sidecar when it has started (A-INIT-3,
// A-INIT-4). The turn never goes back within one sandbox.
func advanceInit(s *step) {
	inits := s.inits()
	for s.kept.InitTurn < len(inits) && inits[s.kept.InitTurn].through() {
		s.kept.InitTurn++
	}
}

// through says that the next init container may begin.
func (c *container) through() bool {
	if c.kind == sidecarContainer {
		return c.started() || c.Position == exited && c.Verdict.Complete
	}
	return c.done()
}

// failedInit is the init container whose failure ends the pod, or nil (A-INIT-3).
func failedInit(s *step) *container {
	inits := s.inits()
	if s.kept.InitTurn >= len(inits) {
		return nil
	}
	if c := inits[s.kept.InitTurn]; c.kind == initContainer && c.final() && !c.done() {
		return c
	}
	return nil
}
