package lifecycle

import (
	"time"

	v1 "k8s.io/api/core/v1"
)

// Event is a fact and when it became known. Events of one pod must be fed in
// one at a time, with times that never go backwards.
type Event struct {
	At   time.Time
	Fact Fact
}

// Fact is something that has happened.
type Fact interface {
	// apply files the fact in the state and does what follows from that fact alone, whatever
	// the rest of the state: it records the Events, reports failures, judges an exit once
	// (settleExit), and ends a pod that must end (terminate). What depends on the whole state
	// is plan's part.
	apply(s *step)
}

// FailureClass says what a caller of the runtime knows about a call that went wrong.
type FailureClass int

const (
	// Failed: the call was refused; nothing was left behind.
	Failed FailureClass = iota
	// Uncertain: the call ended without an answer (deadline, lost connection):
	// it may have worked, or may still.
	Uncertain
	// Unavailable: the call never reached the runtime.
	Unavailable
	// Cancelled: given up because the machine asked for it.
	Cancelled
	// NotFound: the object of the call is not there (any more).
	NotFound
)

// Failure is why an effect did not work.
type Failure struct {
	Class   FailureClass
	Reason  string   // a waiting reason of A-CST-7 where one fits, such as ErrImagePull
	Message string   // the runtime's words, or the summary that a waiting state shows
	Detail  string   // the runtime's words where Message is a summary (A-IMG-4), or the failure behind ImagePullBackOff; else empty
	Each    []string // the messages of several failures at once, such as one per volume; else empty
}

// messages lists the failures that f combines.
func (f *Failure) messages() []string {
	if len(f.Each) > 0 {
		return f.Each
	}
	return []string{f.Message}
}

// showsAs says whether two failures have the same waiting reason in a status.
func (f *Failure) showsAs(other *Failure) bool {
	return f != nil && f.Reason == other.Reason && f.Message == other.Message
}

// Result is the part that the answers to all effects have in common.
type Result struct {
	ID      EffectID
	Failure *Failure // nil: it worked
}

// Accepted is the first event: this node runs the pod (A-CST-18). If the node refuses it,
// Rejected comes instead.
type Accepted struct{}

// Resumed is the first event of a machine made by Restore or Adopt: this lifepod goes on
// with a pod that another process ran.
type Resumed struct {
	ClockChanged time.Duration // change of the wall clock in between, as in ClockChanged
}

// Rejected is the first event of a pod that the node refuses, instead of Accepted:
// nothing of it is created or started, and it is not tried again (A-ADM-2).
type Rejected struct {
	Reason  string // of A-ADM-4, such as AppArmor
	Message string // the check's own words
}

// StopRequested asks for the pod's end (B-WRK-2). It may come again with a
// smaller grace; a greater one changes nothing.
type StopRequested struct {
	GraceSeconds *int64  // nil: spec.terminationGracePeriodSeconds (B-WRK-9)
	Force        bool    // kill at once: no signal, no waiting
	Because      Because // who asked, for the pod's story
}

// RestartRequested asks for a restart without an exit: of one container, or of
// all of them in place (KEP-5532) if Container is empty.
type RestartRequested struct {
	Container string
	Graceful  bool    // all containers: with preStop hooks and grace; a single container always has them
	Because   Because // who asked, for the pod's story
}

// ConditionSet says that a condition that others own has changed, such as one that
// readinessGates names (A-COND-6). Conditions of the node are ignored. An empty status
// means that the condition was removed.
type ConditionSet struct{ Condition v1.PodCondition }

// EphemeralContainerAdded puts an ephemeral container into the pod (A-ACT-5).
type EphemeralContainerAdded struct{ Container v1.EphemeralContainer }

// ResizeRequested asks for other resources (A-ACT-15, A-ACT-16): the pod, unless Pod is nil,
// and the named containers get exactly these, the others keep what they have.
type ResizeRequested Allocation

// ResizeAdmitted answers AdmitResize. Reason is empty if the node has room, else
// Infeasible (never) or Deferred (not now), and Message says why.
type ResizeAdmitted struct {
	Result
	Reason  string
	Message string
}

// RoomFreed says that other pods on the node have released resources, so that a deferred
// resize may fit now (A-ACT-15).
type RoomFreed struct{}

// MemoryMeasured answers MeasureMemory, in bytes; a container that does not run
// is left out.
type MemoryMeasured struct {
	Result
	Pod        int64
	Containers []ContainerMemory
}

// ContainerMemory is what one container uses.
type ContainerMemory struct {
	Name  string
	Bytes int64
}

// CgroupResized answers ResizeCgroup.
type CgroupResized struct{ Result }

// ObjectsChanged says that ConfigMaps or Secrets that the pod may use have changed, or
// its own labels and annotations; the given ones replace the old. Running containers see
// the change in their volumes (A-VOL-5), later ones also in their environment variables.
type ObjectsChanged struct {
	Labels      map[string]string
	Annotations map[string]string
	Because     Because // what has changed, for the pod's story; zero: it is time to publish volumes again (A-CSI-11)
}

// PodUpdated is the pod's complete object as its source has it now (B-WRK-3). The machine
// takes over what may change in a pod: labels and annotations, images, resources,
// ephemeral containers, conditions that others own, and its deletion. It does not keep
// the object.
type PodUpdated struct{ Pod *v1.Pod }

// Woke says that the time asked for with WakeAt has come.
type Woke struct{}

// CgroupEnsured answers EnsureCgroup.
type CgroupEnsured struct{ Result }

// VolumesMounted answers MountVolumes.
type VolumesMounted struct{ Result }

// SandboxCreated answers CreateSandbox.
type SandboxCreated struct {
	Result
	SandboxID string
	IPs       []string // the pod's addresses in any order (A-CST-17); empty with host network
	Warnings  []Warning
}

// Warning is an event of type Warning about something that was made nevertheless
// (A-NET-3: DNSConfigForming).
type Warning struct {
	Reason  string
	Message string
}

// SandboxStopped answers StopSandbox.
type SandboxStopped struct{ Result }

// SandboxRemoved answers RemoveSandbox.
type SandboxRemoved struct{ Result }

// SandboxExited says that the sandbox is no longer ready although nobody stopped it.
type SandboxExited struct{ SandboxID string }

// ImageInspected answers InspectImage; Image is nil when it is not present.
type ImageInspected struct {
	Result
	Image     *ImageInfo
	LocalName string // what is present instead, see ImagePulled
}

// ImagePulled answers PullImage.
type ImagePulled struct {
	Result
	Image *ImageInfo    // after a failure: what this machine has under that name, if the pod may use it
	Took  time.Duration // the pull alone, without waiting for a slot
	// MissingSecrets are the pod's imagePullSecrets that could not be read.
	MissingSecrets []string
	LocalName      string // after a failure: of an image that was built here by the same short name, localhost/NAME
}

// ImageInfo is what the runtime says of an image that is present.
type ImageInfo struct {
	ID        string // passed to CreateContainer (A-IMG-9)
	Ref       string // digest form, status imageID (A-CST-4)
	SizeBytes uint64
	UID       *int64 // the image's user, nil when it is a name (A-SEC-1)
	Username  string
}

// ContainerCreated answers CreateContainer.
type ContainerCreated struct {
	Result
	ContainerID string
}

// ContainerStarted answers StartContainer.
type ContainerStarted struct {
	Result
	Reported *ContainerRunning // what the runtime has reported already; nil if nothing
}

// ContainerRunning is the runtime's report that a container runs. It only refines what
// ContainerStarted said, or repairs a lost answer.
type ContainerRunning struct {
	ContainerID string
	StartedAt   time.Time
	Image       string                   // status image: the name that the runtime reports; empty if none
	ImageRef    string                   // status imageID; empty if not reported
	User        *v1.ContainerUser        // nil if not reported
	Resources   *v1.ResourceRequirements // what it really has; nil if not reported (A-CST-15)
}

// ContainerExited says that a container's process has ended.
type ContainerExited struct {
	ContainerID string
	ExitCode    int32
	Reason      string // the runtime's: Completed, Error, OOMKilled, StartError … (A-CST-9)
	Message     string // termination message, already joined and cut (A-CST-14)
	StartedAt   time.Time
	FinishedAt  time.Time
}

// ContainerStopped answers StopContainer.
type ContainerStopped struct{ Result }

// ContainerRemoved answers RemoveContainer.
type ContainerRemoved struct{ Result }

// Probed answers Probe.
type Probed struct {
	Result  // a Failure means that the attempt was given up (Cancelled) and does not count
	Outcome ProbeOutcome
	Output  string // what the probe said, for Events (A-PROBE-8)
	// Late is the delay that lifepod itself caused, in sending the attempt or in noticing
	// its end. On an overloaded machine every probe fails; such a failure is not the
	// container's.
	Late time.Duration
}

// ProbeOutcome is how one attempt of a probe went.
type ProbeOutcome int

// The outcomes of A-PROBE-7 and A-PROBE-8: an error is neither success nor failure.
const (
	ProbeSuccess ProbeOutcome = iota
	ProbeWarning              // a success with a remark
	ProbeFailure
	ProbeError
)

// HookEnded answers RunHook.
type HookEnded struct {
	Result
	Warnings []Warning // such as LifecycleHTTPFallback (A-HOOK-4)
}

// ContainerResized answers ResizeContainer. Actual is what the container has now
// according to the runtime, nil if it does not say (A-CST-15).
type ContainerResized struct {
	Result
	Actual *v1.ResourceRequirements
}

// Published answers a Publish that has an ID.
type Published struct{ Result }

// VolumesRefreshed answers RefreshVolumes.
type VolumesRefreshed struct{ Result }

// StorageMeasured answers MeasureStorage.
type StorageMeasured struct {
	Result
	Volumes    []StorageUsage
	Containers []StorageUsage // logs and writable layer together
	Took       time.Duration
}

// StorageUsage is what one volume or container uses.
type StorageUsage struct {
	Name  string
	Bytes int64
}

// VolumesUnmounted answers UnmountVolumes.
type VolumesUnmounted struct{ Result }

// CgroupRemoved answers RemoveCgroup.
type CgroupRemoved struct{ Result }

// Observed is a snapshot of all that the runtime has of this pod. ID is 0 for
// the periodic one that nobody asked for.
type Observed struct {
	Result
	Began      time.Time // when the listing began; the snapshot proves nothing about what was done later
	Sandboxes  []ObservedSandbox
	Containers []ObservedContainer
}

// ObservedSandbox is one sandbox of the pod.
type ObservedSandbox struct {
	ID      string
	Attempt uint32
	Ready   bool
	IPs     []string
}

// ContainerState is the runtime's view of a container.
type ContainerState int

// The four states of CRI (A-CST-3).
const (
	StateCreated ContainerState = iota
	StateRunning
	StateExited
	StateUnknown
)

// ObservedContainer is one container of the pod. Exit is set in StateExited.
type ObservedContainer struct {
	ID        string
	Name      string
	Attempt   uint32
	SandboxID string
	State     ContainerState
	StartedAt time.Time
	Exit      *ContainerExited
	Reported  *ContainerRunning // image, user … in any state; nil if not read
}
