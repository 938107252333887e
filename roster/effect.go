package roster

import (
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/roster/admit"
	"github.com/lifepod/lifepod/roster/pressure"
)

// Effect is something to do. Effects are carried out in order, and none of them blocks.
type Effect interface{ effect() }

// Begin begins the life of a new pod.
type Begin struct {
	Source Source
	Pod    *v1.Pod
}

// Refuse begins the life of a rejected pod, which only reports the rejection (A-ADM-2).
type Refuse struct {
	Source Source
	Pod    *v1.Pod
	Why    admit.Refusal
}

// Resume continues a life from its checkpoint. Resumed or NotResumed answers it at once.
type Resume struct {
	Remembered
}

// Adopt continues a life without a checkpoint, from the status of the pod's object and
// what the runtime has of the pod.
type Adopt struct {
	Source Source
	Pod    *v1.Pod
	Has    lifecycle.Observed
}

// Tell gives the worker of a living pod a fact: an update of its object, a request for
// its end, an eviction, room for its resize, a change of what it uses.
type Tell struct {
	UID  types.UID
	Fact lifecycle.Fact
}

// Know says that the roster has a pod now, or a newer version of it: what it uses of the
// API is watched, a static pod is shown there.
type Know struct {
	Source Source
	Pod    *v1.Pod
	// Before is the previously known pod; nil for a new one.
	Before *v1.Pod
	// Again says that the pod begins anew, because it was wanted again while it ended.
	Again bool
}

// Drop says that the roster no longer has a pod: what Know began ends.
type Drop struct {
	Source Source
	UID    types.UID
}

// Look asks what the runtime has of a pod; Looked answers it, as soon as the runtime can.
type Look struct{ Pod *v1.Pod }

// ReadNode asks for the Node as the API server has it now; NodeRead answers it.
type ReadNode struct{ UID types.UID }

// Allocate asks for what a pod is given of the node by name and nobody else then has, such as
// devices; Allocated answers it. It may take a while.
type Allocate struct{ Pod *v1.Pod }

// Release gives back what a pod was given by name, and what it was to be given.
type Release struct{ UID types.UID }

// Recall asks for what is remembered of a pod; Recalled answers it.
type Recall struct{ UID types.UID }

// Forget removes what is remembered of a pod.
type Forget struct{ UID types.UID }

// Discard removes what is on disk of a pod that has ended without a worker (B-WRK-23).
type Discard struct{ Pod *v1.Pod }

// DeleteObject tells the API server that nothing is left of a pod that is being deleted
// there (B-WRK-24, B-DEL-12).
type DeleteObject struct {
	Pod    *v1.Pod
	Status v1.PodStatus
}

// RecordBoot has the machine's boot ID recorded: the next agent resumes pods of the API
// without waiting for it, until the machine reboots (B-RST-21).
type RecordBoot struct{}

// AllHeard says that every source has reported what it had: what nobody wants may go from
// the disk.
type AllHeard struct{}

// AnswerResize answers ResizeAsked; Refusal is nil if there is room.
type AnswerResize struct {
	ID      int
	Refusal *admit.Refusal
}

// AnnounceShutdown says that the machine shuts down, or that its shutdown was cancelled: the
// Node is not Ready while it does (B-SHD-2).
type AnnounceShutdown struct{ Cancelled bool }

// FlushStatuses asks for the API server to have every status that was published so far;
// StatusesFlushed answers it, if that is before a time.
type FlushStatuses struct{ Until time.Time }

// ReleaseInhibitor lets the machine shut down (B-SHD-4).
type ReleaseInhibitor struct{}

// TakeInhibitor has the next shutdown wait again (B-SHD-2).
type TakeInhibitor struct{}

// Measure asks for NodeMeasured now; else it comes when something may have changed.
type Measure struct{}

// Reclaim asks for what the node can give back without ending a pod; Reclaimed answers it
// (B-EVI-6).
type Reclaim struct{ pressure.Reclaims }

// MeasurePods asks what each pod uses of what runs short; PodsMeasured answers it.
type MeasurePods struct{ Signal pressure.Signal }

// SetConditions tells of all conditions of pressure that the Node has now (B-EVI-5).
type SetConditions struct{ Conditions []v1.NodeConditionType }

// NodeEvent records an event about the Node.
type NodeEvent struct{ Type, Reason, Message string }

// PodEvent records an event about a pod, of which its worker does not tell.
type PodEvent struct {
	Pod   *v1.Pod
	Event lifecycle.RecordEvent
}

// Evicted counts an eviction, by the signals that demanded it, the most urgent one first.
type Evicted struct {
	Signals []pressure.Signal
	Seen    pressure.Observations
}

// Preempted counts a pod that makes room for a critical one, by the resource of which that
// lacks some; of several the first one (B-PRE-2).
type Preempted struct{ Missing v1.ResourceName }

// WakeAt asks for Woke at a time, instead of what was asked for before. Zero: never.
type WakeAt struct{ At time.Time }

// Report is a line about what becomes of a pod, or of all, and why.
type Report struct {
	lifecycle.Words
	Source  Source
	Warning bool
}

func (Begin) effect()            {}
func (Refuse) effect()           {}
func (Resume) effect()           {}
func (Adopt) effect()            {}
func (Tell) effect()             {}
func (Know) effect()             {}
func (Drop) effect()             {}
func (Look) effect()             {}
func (ReadNode) effect()         {}
func (Allocate) effect()         {}
func (Release) effect()          {}
func (Recall) effect()           {}
func (Forget) effect()           {}
func (Discard) effect()          {}
func (DeleteObject) effect()     {}
func (AllHeard) effect()         {}
func (RecordBoot) effect()       {}
func (AnswerResize) effect()     {}
func (AnnounceShutdown) effect() {}
func (FlushStatuses) effect()    {}
func (ReleaseInhibitor) effect() {}
func (TakeInhibitor) effect()    {}
func (WakeAt) effect()           {}
func (Report) effect()           {}
func (Measure) effect()          {}
func (Reclaim) effect()          {}
func (MeasurePods) effect()      {}
func (SetConditions) effect()    {}
func (NodeEvent) effect()        {}
func (PodEvent) effect()         {}
func (Evicted) effect()          {}
func (Preempted) effect()        {}
