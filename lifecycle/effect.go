package lifecycle

import (
	"time"

	v1 "k8s.io/api/core/v1"
)

// EffectID names one effect of one pod. IDs are never reused; 0 means "none under way".
type EffectID int64

// Effect is something the caller must carry out. Effects that take time have
// an ID and are answered by the event of the same ID; the others (Cancel,
// WakeAt, Publish, RecordEvent, CountEviction, Tell) are carried out at once, in order.
type Effect interface {
	// EffectID is 0 for an effect that is carried out at once.
	EffectID() EffectID
}

// EnsureCgroup creates the pod's cgroup (A-SYNC-4(7)). Answer: CgroupEnsured.
type EnsureCgroup struct {
	ID   EffectID
	Room []Allocation // as in ResizeCgroup, during a resize; else empty
}

// MountVolumes makes the pod's folders and all its volumes (A-SYNC-8). Answer: VolumesMounted, and
// before it VolumesFound if SandboxNeedsVolumeGroups says so and all claims are bound.
type MountVolumes struct{ ID EffectID }

// PrepareClaims has the drivers prepare the devices of the pod's resource claims
// (A-DRA-2). Answer: ClaimsPrepared.
type PrepareClaims struct{ ID EffectID }

// UnprepareClaims has the drivers take the devices back that no other pod uses (A-DRA-8).
// Answer: ClaimsUnprepared.
type UnprepareClaims struct{ ID EffectID }

// CreateSandbox runs the pod's sandbox. Answer: SandboxCreated.
type CreateSandbox struct {
	ID      EffectID
	Attempt uint32 // CRI attempt: the number of sandboxes this pod had before (A-ACT-3)
}

// StopSandbox stops a sandbox and everything in it; its addresses are given back. Answer: SandboxStopped.
type StopSandbox struct {
	ID        EffectID
	SandboxID string
}

// RemoveSandbox removes a sandbox and all containers in it and, as CRI requires, ends
// what still runs there. Answer: SandboxRemoved.
type RemoveSandbox struct {
	ID        EffectID
	SandboxID string
}

// InspectImage checks whether the image is on the machine. Answer: ImageInspected.
type InspectImage struct {
	ID        EffectID
	Container string // the container that needs the image; empty for a volume's
	Volume    string // the volume that needs it (A-IMG-10)
	Image     string // as written in the spec, with ":latest" where neither tag nor digest is given (A-IMG-1)
}

// PullImage pulls an image with the pod's credentials. Answer: ImagePulled.
type PullImage struct {
	ID        EffectID
	Container string // as in InspectImage
	Volume    string
	Image     string
}

// CreateContainer creates a container in the sandbox. Answer: ContainerCreated.
type CreateContainer struct {
	ID        EffectID
	Container string
	Attempt   uint32 // equals the container's restartCount (A-CST-11)
	SandboxID string
	Image     ImageInfo
	PodIPs    []string
	Volumes   []VolumeImage // the images of its image volumes (A-IMG-10)
	TargetID  string        // the container whose processes an ephemeral one sees; may be empty (A-CRI-5)
}

// StartContainer starts a created container. Answer: ContainerStarted, and later also
// ContainerRunning and ContainerExited.
type StartContainer struct {
	ID          EffectID
	Container   string
	ContainerID string
}

// StopContainer sends the stop signal, waits for TimeoutSeconds and kills.
// Answer: ContainerStopped, and ContainerExited for the exit itself. A second
// StopContainer for the same container may come with a smaller timeout; both
// run (B-WRK-8).
type StopContainer struct {
	ID             EffectID
	Container      string
	ContainerID    string
	TimeoutSeconds int64 // 0 kills at once
}

// RemoveContainer removes a container, as CRI requires even one that runs, and its log
// (B-GC-3). Answer: ContainerRemoved.
type RemoveContainer struct {
	ID          EffectID
	Container   string
	ContainerID string
	Attempt     uint32 // its restart count, which names the log
	KeepLog     bool   // the log stays until the pod goes (B-RAC-7)
}

// Probe makes one attempt of a probe. Answer: Probed.
type Probe struct {
	ID          EffectID
	Container   string
	ContainerID string
	Kind        ProbeKind
	PodIP       string // where httpGet, tcpSocket and grpc go unless they name a host; may be empty (A-PROBE-17)
}

// ProbeKind is which of a container's probes is meant.
type ProbeKind int

// The three probes of a container.
const (
	StartupProbe ProbeKind = iota
	LivenessProbe
	ReadinessProbe
)

// String is the kind as Kubernetes Events write it (A-PROBE-8).
func (k ProbeKind) String() string { return [...]string{"Startup", "Liveness", "Readiness"}[k] }

// RunHook runs one lifecycle hook. Cancel ends it. Answer: HookEnded.
type RunHook struct {
	ID          EffectID
	Container   string
	ContainerID string
	Hook        HookKind
	PodIP       string    // where httpGet goes unless it names a host
	Deadline    time.Time // zero: none; a hook that reaches it goes on in the container, but nobody waits for it (B-HOOK-2)
}

// HookKind is which of a container's hooks is meant.
type HookKind int

// The two hooks of a container.
const (
	PostStart HookKind = iota
	PreStop
)

func (k HookKind) String() string { return [...]string{"PostStart", "PreStop"}[k] }

// AdmitResize asks whether the node has room for the pod with other resources (A-ACT-15).
// Pod is a copy. Answer: ResizeAdmitted.
type AdmitResize struct {
	ID  EffectID
	Pod *v1.Pod
}

// MeasureMemory reads how much memory the pod and its containers use. Answer: MemoryMeasured.
type MeasureMemory struct {
	ID        EffectID
	SandboxID string
}

// ResizeCgroup gives the pod's cgroup the lowest values that suffice for each allocation
// in Room (A-ACT-12). Answer: CgroupResized.
type ResizeCgroup struct {
	ID        EffectID
	SandboxID string // the sandbox to tell the runtime about first; may be empty
	Room      []Allocation
}

// ResizeContainer changes the resources of a container that runs (KEP-1287).
// Answer: ContainerResized.
type ResizeContainer struct {
	ID          EffectID
	Container   string
	ContainerID string
	Resources   v1.ResourceRequirements
}

// RefreshVolumes writes the files of configMap, secret, downwardAPI and projected
// volumes anew, each volume in one step (A-VOL-5). Answer: VolumesRefreshed.
type RefreshVolumes struct{ ID EffectID }

// MeasureStorage asks how much of the disk the pod uses (B-LST-1). Answer:
// StorageMeasured.
type MeasureStorage struct {
	ID         EffectID
	Volumes    []string // emptyDir and configMap volumes
	Containers bool     // also the logs and writable layers
}

// UnmountVolumes removes the pod's volumes (B-FIN-6). Answer: VolumesUnmounted.
type UnmountVolumes struct {
	ID       EffectID
	KeepLogs bool // the logs stay until the pod's object is gone (B-FIN-11)
}

// RemoveCgroup kills what is left in the pod's cgroup and removes it (B-FIN-6). Answer: CgroupRemoved.
type RemoveCgroup struct{ ID EffectID }

// Observe reads what the runtime has of this pod. Answer: Observed. The machine asks for
// it after a call without an answer, to adopt what the call left behind instead of
// creating it twice.
type Observe struct{ ID EffectID }

// Cancel asks to give up the effect with that ID; its answer still comes.
type Cancel struct{ ID EffectID }

// WakeAt replaces the pod's one timer; at that time the caller sends Woke. At is on the
// wall clock of the step, but once set the timer must not depend on that clock. Zero
// means that no timer is needed.
type WakeAt struct{ At time.Time }

// Publish hands out the pod's new status (A-STAT-1). It shares memory with the machine, which
// never changes what it has handed out: whoever wants another status makes a copy. If it
// has an ID, the machine waits until every watcher can see the status and it is safe on
// disk; the answer is then Published.
type Publish struct {
	ID     EffectID
	Status v1.PodStatus
}

// RecordEvent is a Kubernetes Event on the pod (A-EVT).
type RecordEvent struct {
	Type      string // Normal or Warning
	Reason    string
	Message   string
	FieldPath string // spec.containers{name}, empty for the pod itself (A-EVT-1)
	Blame     Blame  // annotations of an eviction
}

// CountEviction counts the pod's eviction because it exceeds a limit. Signal is which one,
// as the label of kubelet_evictions names it (B-LST-1).
type CountEviction struct{ Signal string }

// Tell is one line of the pod's story.
type Tell struct{ Report Report }

// DeleteObject says that the pod's object can be deleted for good (B-FIN-6, B-DEL-9):
// containers, addresses, volumes and cgroup are given back, and at most the sandbox's
// record still exists. It may come again after a kill -9.
type DeleteObject struct{}

// Finish says that the pod is gone: nothing of it is left in the runtime or on
// disk, and no further event is expected.
type Finish struct{ End End }

func (e EnsureCgroup) EffectID() EffectID    { return e.ID }
func (e MountVolumes) EffectID() EffectID    { return e.ID }
func (e PrepareClaims) EffectID() EffectID   { return e.ID }
func (e UnprepareClaims) EffectID() EffectID { return e.ID }
func (e CreateSandbox) EffectID() EffectID   { return e.ID }
func (e StopSandbox) EffectID() EffectID     { return e.ID }
func (e RemoveSandbox) EffectID() EffectID   { return e.ID }
func (e InspectImage) EffectID() EffectID    { return e.ID }
func (e PullImage) EffectID() EffectID       { return e.ID }
func (e CreateContainer) EffectID() EffectID { return e.ID }
func (e StartContainer) EffectID() EffectID  { return e.ID }
func (e StopContainer) EffectID() EffectID   { return e.ID }
func (e RemoveContainer) EffectID() EffectID { return e.ID }
func (e RefreshVolumes) EffectID() EffectID  { return e.ID }
func (e MeasureStorage) EffectID() EffectID  { return e.ID }
func (e UnmountVolumes) EffectID() EffectID  { return e.ID }
func (e RemoveCgroup) EffectID() EffectID    { return e.ID }
func (e Probe) EffectID() EffectID           { return e.ID }
func (e RunHook) EffectID() EffectID         { return e.ID }
func (e AdmitResize) EffectID() EffectID     { return e.ID }
func (e MeasureMemory) EffectID() EffectID   { return e.ID }
func (e ResizeCgroup) EffectID() EffectID    { return e.ID }
func (e ResizeContainer) EffectID() EffectID { return e.ID }
func (e Observe) EffectID() EffectID         { return e.ID }
func (Cancel) EffectID() EffectID            { return 0 }
func (WakeAt) EffectID() EffectID            { return 0 }
func (e Publish) EffectID() EffectID         { return e.ID }
func (RecordEvent) EffectID() EffectID       { return 0 }
func (CountEviction) EffectID() EffectID     { return 0 }
func (Tell) EffectID() EffectID              { return 0 }
func (DeleteObject) EffectID() EffectID      { return 0 }
func (Finish) EffectID() EffectID            { return 0 }

// Answered is the result of the effect that a fact answers; facts that answer none have no such method.
func (r Result) Answered() Result { return r }
