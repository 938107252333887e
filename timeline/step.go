package timeline

import (
	"strings"

	"github.com/lifepod/lifepod/internal/sentence"
)

// Step is what a bar's time is spent on.
type Step string

// The steps, in the order in which a pod comes to them.
const (
	Scheduling     Step = "scheduling" // from creation until the scheduler has chosen the node
	Admission      Step = "admission"  // until the node has accepted the pod
	Pending        Step = "Pending"    // the pod's phase
	Cgroup         Step = "cgroup"
	Claims         Step = "claims"
	MountVolumes   Step = "volumes"
	Sandbox        Step = "sandbox" // and its network
	ImageCheck     Step = "image check"
	ImagePull      Step = "image pull"
	Create         Step = "create"
	Start          Step = "start"
	PostStart      Step = "postStart"
	Startup        Step = "startup" // until its startup probe succeeds
	NotReady       Step = "not ready"
	Ready          Step = "ready"
	Runs           Step = "runs" // a container without probes: init and ephemeral ones
	PreStop        Step = "preStop"
	Stopping       Step = "stopping" // from the stop signal until the exit
	BackOff        Step = "back-off"
	Waiting        Step = "waiting"
	Away           Step = "lifepod away" // it had been killed, and resumed the pod later
	Ending         Step = "ending"       // the pod, until it is gone
	Remove         Step = "remove"
	Resize         Step = "resize"
	RefreshVolumes Step = "refresh volumes"
)

// The steps of a group, in which it waits for the last member, and those of its members.
const (
	AllHear     Step = "all take part" // in the attempt
	AllEnd      Step = "all have ended"
	Lift        Step = "barrier is lifted" // statuses are written, counted and reported
	AllHearLift Step = "all are told"
	AllStart    Step = "all start"
	AllRun      Step = "all run"
	AtBarrier   Step = "at the barrier"
	InAttempt   Step = "runs in the attempt"
)

// Class is how steps are told apart in a picture.
type Class string

// The classes.
const (
	Work Class = "work" // lifepod, the runtime or a registry is busy
	Pull Class = "pull"
	Run  Class = "run" // a container runs, and is not ready
	Up   Class = "up"  // it is ready
	Wait Class = "wait"
	Stop Class = "stop"
)

func (s Step) Class() Class {
	switch s {
	case ImagePull:
		return Pull
	case PostStart, Startup, NotReady, Runs:
		return Run
	case Ready, AllRun, InAttempt:
		return Up
	case Scheduling, Admission, Pending, BackOff, Waiting, Away, AllHear, Lift, AllHearLift, AtBarrier:
		return Wait
	case PreStop, Stopping, Ending, Remove, AllEnd:
		return Stop
	default:
		return Work
	}
}

// label is what a step is called on a critical path.
func (b *board) label(step Step, row *Row) string {
	of, l := row.Container, b.language
	switch {
	case step == Runs && row.Of == "init":
		return l.Say("init container %s", of)
	case row.Kind == ImageRow && of == "":
		return l.Word(string(step)) + l.Word(", ") + row.In(l)
	case step == Sandbox:
		return l.Word("sandbox, network")
	case of == "":
		return l.Word(string(step))
	}
	switch step {
	case Create:
		return l.Say("creation of %s", of)
	case Startup:
		return l.Say("startup of %s", of)
	case NotReady:
		return l.Say("readiness of %s", of)
	case PostStart, PreStop:
		return l.Say("%s hook of %s", step, of)
	case Runs, Ready, Stopping, Waiting, Away:
		return of + " " + l.Word(string(step))
	default:
		return l.Say("%[1]s of %[2]s", l.Word(string(step)), of)
	}
}

// In is the row's name in a language.
func (r *Row) In(l sentence.Language) string {
	switch r.Kind {
	case CgroupRow, ClaimsRow, VolumesRow, SandboxRow, AttemptsRow:
		return l.Word(r.Name)
	case ImageRow:
		if r.Container == "" {
			return l.Say("image of volume %s", strings.TrimPrefix(r.Name, volumeImage))
		}
		return l.Say("image of %s", r.Container)
	case ProbeRow:
		return l.Say("%[1]s of %[2]s", r.Probe(l), r.Container)
	default:
		return r.Name
	}
}

// Probe is the name of a probe's row without its container's.
func (r *Row) Probe(l sentence.Language) string {
	switch name := strings.TrimSuffix(r.Name, " of "+r.Container); name {
	case "startup probe", "readiness probe", "liveness probe":
		return l.Word(name)
	default:
		return name
	}
}

// works are which steps effects are, and in which kinds of rows. Others are no bars.
var works = map[string]struct {
	step Step
	kind RowKind
}{
	"EnsureCgroup": {Cgroup, CgroupRow}, "RemoveCgroup": {Remove, CgroupRow},
	"PrepareClaims": {Claims, ClaimsRow}, "UnprepareClaims": {Remove, ClaimsRow},
	"MountVolumes": {MountVolumes, VolumesRow}, "RefreshVolumes": {RefreshVolumes, VolumesRow}, "UnmountVolumes": {Remove, VolumesRow},
	"CreateSandbox": {Sandbox, SandboxRow}, "StopSandbox": {Stopping, SandboxRow}, "RemoveSandbox": {Remove, SandboxRow},
	"PullImage": {ImagePull, ImageRow}, "InspectImage": {ImageCheck, ContainerRow},
	"CreateContainer": {Create, ContainerRow}, "StartContainer": {Start, ContainerRow}, "RemoveContainer": {Remove, ContainerRow},
}
