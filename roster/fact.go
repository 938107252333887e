package roster

import (
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/roster/admit"
	"github.com/lifepod/lifepod/roster/pressure"
)

// Event is a fact and when it became known.
type Event struct {
	At   time.Time
	Fact Fact
}

// Fact is something that has happened, or an answer to an effect.
type Fact interface {
	// apply files the fact. If it is about a pod that is no longer known, it is ignored.
	apply(m *Machine)
}

// Opened is the first fact of a node: what a previous agent left.
type Opened struct {
	// Remembered lists the pods with a checkpoint of a previous agent.
	Remembered []Remembered
	// Found lists the pods that the runtime has.
	Found []Found
	// Rebooted: the machine has rebooted since the last RecordBoot, so pods of the API may
	// have moved to another node (B-RST-21).
	Rebooted bool
}

// Remembered is a pod as a previous agent accepted it, with its checkpoint.
type Remembered struct {
	Source     Source               `json:"origin"`
	Pod        *v1.Pod              `json:"pod"`
	Checkpoint lifecycle.Checkpoint `json:"-"` // has a file of its own
}

// FoundLater is a pod that the runtime has and no worker, after the start: a call of an agent before may be carried out late
// (B-WRK-21).
type FoundLater struct{ Found }

// Found is a pod that the runtime has. Of what was seen, names, IDs and attempts count.
type Found struct {
	UID             types.UID
	Namespace, Name string
	Ours            bool // an agent of this node has made it
	Seen            lifecycle.Observed
}

// Wanted says that a source has a pod, or a newer version of it. The pod is never
// changed afterwards, only replaced.
type Wanted struct {
	Source Source
	Pod    *v1.Pod
}

// Unwanted says that a source no longer has a pod (B-WRK-2).
type Unwanted struct{ UID types.UID }

// SourceHeard says that a source has listed all the pods it had at the start.
type SourceHeard struct{ Source Source }

// NodeKnown is the Node as now known; nil if it is not known yet.
type NodeKnown struct{ Node *v1.Node }

// NodeRead answers ReadNode. Node is nil if it could not be read.
type NodeRead struct {
	UID  types.UID
	Node *v1.Node
}

// Allocated answers Allocate.
type Allocated struct {
	UID types.UID
	// Refusal is nil if the pod has all that it asks for; else it has nothing.
	Refusal *admit.Refusal
	// Lacks is the resource of which others have too much, if that is why; they may give some
	// back.
	Lacks v1.ResourceName
	// Given are the resources of which it was given something: the Node need not have any left,
	// or not know of them yet (A-DEV-5).
	Given []v1.ResourceName
}

// Looked answers Look.
type Looked struct {
	UID types.UID
	// Has is all that the runtime has of the pod.
	Has lifecycle.Observed
	// Mirror is the mirror pod of a static pod as the API server has it; nil if none is known.
	Mirror *v1.Pod
}

// Resumed answers Resume: the pod's life goes on, with this status.
type Resumed struct {
	UID    types.UID
	Status v1.PodStatus
}

// NotResumed answers Resume: the checkpoint is unusable.
type NotResumed struct {
	UID types.UID
	Err error
}

// Recalled answers Recall. Remembered is nil if nothing usable is remembered of the pod.
type Recalled struct {
	UID        types.UID
	Remembered *Remembered
}

// Published says that a living pod has a new status.
type Published struct {
	UID    types.UID
	Status v1.PodStatus
}

// Rested says that a living pod has ended and given back all that it held of the node: its
// containers have stopped, and its volumes are unmounted. What is kept of it waits for its
// object to go.
type Rested struct{ UID types.UID }

// NothingLeft says that the API object of a living pod can be deleted, because nothing
// is left of what it stands for (B-DEL-11).
type NothingLeft struct{ UID types.UID }

// Ended says that the life of a pod has ended and nothing is left of it here (B-WRK-16).
type Ended struct{ UID types.UID }

// Panicked says that the worker of a pod has panicked.
type Panicked struct {
	UID types.UID
	Err error
}

// ResizeAsked asks whether the node has room for a living pod with other resources
// (A-ACT-15). AnswerResize answers it.
type ResizeAsked struct {
	ID  int // of the question, given back with the answer
	Pod *v1.Pod
}

// SpaceNeeded says that the node needs space on its disk.
type SpaceNeeded struct{}

// ObjectsChanged says that ConfigMaps, Secrets … that a pod uses have changed.
type ObjectsChanged struct {
	UID     types.UID
	Because lifecycle.Because
}

// ShutdownBegan says that the machine is about to shut down, and waits for the node's pods
// (B-SHD-2).
type ShutdownBegan struct{}

// ShutdownCancelled says that the machine doesn't shut down after all.
type ShutdownCancelled struct{}

// StatusesFlushed answers FlushStatuses.
type StatusesFlushed struct{}

// NodeMeasured is what the node has left of what may run short (B-EVI-1).
type NodeMeasured struct {
	Seen  pressure.Observations
	Disks pressure.Disks
}

// Reclaimed answers Reclaim. Seen is what the node has left then; empty if it could not
// be measured.
type Reclaimed struct{ Seen pressure.Observations }

// PodsMeasured answers MeasurePods; a pod of which nothing is known is not in it.
type PodsMeasured struct {
	Used   pressure.Usage
	Failed bool // it could not be measured
}

// Woke says that the time of the last WakeAt has come.
type Woke struct{}

func (f Opened) apply(m *Machine)          { m.open(f) }
func (f Wanted) apply(m *Machine)          { m.wanted(f) }
func (f Unwanted) apply(m *Machine)        { m.unwanted(f.UID) }
func (f SourceHeard) apply(m *Machine)     { m.sourceHeard(f.Source) }
func (f NodeKnown) apply(m *Machine)       { m.node = f.Node }
func (f FoundLater) apply(m *Machine)      { foundLater(m, f.Found) }
func (Woke) apply(m *Machine)              { m.woke() }
func (SpaceNeeded) apply(m *Machine)       { m.spaceNeeded() }
func (ShutdownBegan) apply(m *Machine)     { m.shutdownBegan() }
func (ShutdownCancelled) apply(m *Machine) { m.shutdownCancelled() }
func (StatusesFlushed) apply(m *Machine)   { m.statusesFlushed() }
func (f NodeMeasured) apply(m *Machine)    { m.nodeMeasured(f) }
func (f Reclaimed) apply(m *Machine)       { m.reclaimed(f) }
func (f PodsMeasured) apply(m *Machine)    { m.podsMeasured(f) }
func (f ResizeAsked) apply(m *Machine)     { m.do(AnswerResize{ID: f.ID, Refusal: m.room(f.Pod)}) }

func (f NodeRead) apply(m *Machine)    { m.ofPod(f.UID, func(p *pod) { m.nodeRead(p, f.Node) }) }
func (f Allocated) apply(m *Machine)   { m.ofPod(f.UID, func(p *pod) { m.allocationAnswered(p, f) }) }
func (f Looked) apply(m *Machine)      { m.ofPod(f.UID, func(p *pod) { m.looked(p, f) }) }
func (f Resumed) apply(m *Machine)     { m.ofPod(f.UID, func(p *pod) { m.resumed(p, f.Status) }) }
func (f NotResumed) apply(m *Machine)  { m.ofPod(f.UID, func(p *pod) { m.notResumed(p, f.Err) }) }
func (f Recalled) apply(m *Machine)    { m.ofPod(f.UID, func(p *pod) { m.recalled(p, f.Remembered) }) }
func (f Published) apply(m *Machine)   { m.ofPod(f.UID, func(p *pod) { m.published(p, f.Status) }) }
func (f Rested) apply(m *Machine)      { m.ofPod(f.UID, m.restedNow) }
func (f NothingLeft) apply(m *Machine) { m.ofPod(f.UID, m.deleteObject) }
func (f Ended) apply(m *Machine)       { m.ofPod(f.UID, m.ended) }
func (f Panicked) apply(m *Machine)    { m.ofPod(f.UID, func(p *pod) { m.panicked(p, f.Err) }) }
func (f ObjectsChanged) apply(m *Machine) {
	m.ofPod(f.UID, func(p *pod) { m.objectsChanged(p, f.Because) })
}
