package timeline

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
func label(step Step, row *Row) string {
	of := row.Container
	switch {
	case step == Runs && row.Of == "init":
		return "init container " + of
	case row.Kind == ImageRow && of == "":
		return string(step) + ", " + row.Name
	case step == Sandbox:
		return "sandbox, network"
	case of == "":
		return string(step)
	}
	switch step {
	case Create:
		return "creation of " + of
	case Startup:
		return "startup of " + of
	case NotReady:
		return "readiness of " + of
	case PostStart, PreStop:
		return string(step) + " hook of " + of
	case Runs, Ready, Stopping, Waiting, Away:
		return of + " " + string(step)
	default:
		return string(step) + " of " + of
	}
}

// work is which step an effect is, and in which kind of row; not known: it is no bar.
func work(effect string) (step Step, kind RowKind, known bool) {
	switch effect {
	case "EnsureCgroup", "RemoveCgroup":
		return removing(Cgroup, effect == "RemoveCgroup"), CgroupRow, true
	case "PrepareClaims", "UnprepareClaims":
		return removing(Claims, effect == "UnprepareClaims"), ClaimsRow, true
	case "MountVolumes", "UnmountVolumes":
		return removing(MountVolumes, effect == "UnmountVolumes"), VolumesRow, true
	case "RefreshVolumes":
		return RefreshVolumes, VolumesRow, true
	case "CreateSandbox":
		return Sandbox, SandboxRow, true
	case "StopSandbox":
		return Stopping, SandboxRow, true
	case "RemoveSandbox":
		return Remove, SandboxRow, true
	case "PullImage":
		return ImagePull, ImageRow, true
	case "InspectImage":
		return ImageCheck, ContainerRow, true
	case "CreateContainer":
		return Create, ContainerRow, true
	case "StartContainer":
		return Start, ContainerRow, true
	case "RemoveContainer":
		return Remove, ContainerRow, true
	}
	return "", "", false
}

func removing(step Step, remove bool) Step {
	if remove {
		return Remove
	}
	return step
}
