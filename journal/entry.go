package journal

import (
	"cmp"
	"slices"
	"time"

	"github.com/lifepod/lifepod/lifecycle"
)

// Kind is what an entry is about.
type Kind string

// The kinds of entries.
const (
	// Fact is something that happened to the pod: an exit, a failed probe, a wish. Name is
	// the type of the lifecycle.Fact.
	Fact Kind = "fact"
	// Begun is a call or other work that lifepod began. Name is the type of the
	// lifecycle.Effect.
	Begun Kind = "begun"
	// Answered is how that work ended; its cause is the entry that it was begun with. Name
	// is the type of the lifecycle.Effect, too.
	Answered Kind = "answered"
	// Decided is a line of the pod's story (lifecycle.Report).
	Decided Kind = "decided"
	// Milestone is a change of the status: Name is "phase", "restarts", "state", "started",
	// "ready" or the type of a condition, Value what it is now.
	Milestone Kind = "milestone"
	// Event is a Kubernetes Event: Name is its reason, Value its type.
	Event Kind = "event"
)

// Entry is one line of a pod's journal.
type Entry struct {
	// ID is greater than those of all entries before, also of an earlier lifepod.
	ID int64 `json:"id"`
	// Cause is the ID of the entry that led to this one; 0: it came from outside.
	Cause int64     `json:"cause,omitzero"`
	At    time.Time `json:"at"`
	Kind  Kind      `json:"kind"`
	Name  string    `json:"name,omitzero"`
	Value string    `json:"value,omitzero"`

	// Container is whom it is about; empty: the pod. Attempt is which instance of it: its
	// restart count.
	Container string `json:"container,omitzero"`
	Attempt   uint32 `json:"attempt,omitzero"`

	// Report is a decision as data, whose Subject and Rule are Container and Rule here; nil: there
	// is none, or the entry is of a lifepod that kept only the words (Says).
	Report *lifecycle.Report `json:"report,omitzero"`
	// What, Outcome and Because are its lifecycle.Words, for people. An Event's message and a
	// condition's are in What, a milestone's reason is in Because.
	What    string `json:"what,omitzero"`
	Outcome string `json:"outcome,omitzero"`
	Because string `json:"because,omitzero"`
	Rule    string `json:"rule,omitzero"`

	// Effect is the work's ID, of Begun and Answered.
	Effect  lifecycle.EffectID `json:"effect,omitzero"`
	Failure *Failure           `json:"failure,omitzero"`
	Exit    *Exit              `json:"exit,omitzero"`
	// Image is what is inspected or pulled; Bytes is its size, once that is known.
	Image string `json:"image,omitzero"`
	Bytes uint64 `json:"bytes,omitzero"`
	// Detail is what else is known: a probe's kind and output, a hook's kind, a volume's
	// name, a container's ID, addresses, who asked.
	Detail map[string]string `json:"detail,omitzero"`
}

// Says is what was decided; zero: nothing, or only the words are known.
func (e *Entry) Says() lifecycle.Report {
	if e.Report == nil {
		return lifecycle.Report{}
	}
	return *e.Report
}

// Failure is why work did not do what it was for.
type Failure struct {
	Class   string `json:"class"` // failed, uncertain, unavailable, cancelled or not found
	Reason  string `json:"reason,omitzero"`
	Message string `json:"message,omitzero"`
}

// Exit is how an instance of a container ended.
type Exit struct {
	Code       int32     `json:"code"`
	Reason     string    `json:"reason,omitzero"` // Completed, Error, OOMKilled …
	Message    string    `json:"message,omitzero"`
	StartedAt  time.Time `json:"startedAt,omitzero"`
	FinishedAt time.Time `json:"finishedAt,omitzero"`
}

// Pod is which pod a journal is of.
type Pod struct {
	UID       string            `json:"uid"`
	Namespace string            `json:"namespace"`
	Name      string            `json:"name"`
	Node      string            `json:"node,omitzero"`
	Labels    map[string]string `json:"labels,omitzero"`
	Owner     string            `json:"owner,omitzero"` // "Job/trainer"; empty: none
	// TraceParent is the trace that the pod's life is part of, as the annotation
	// lifepod.dev/traceparent says in the form of W3C; empty: one of its own.
	TraceParent string `json:"traceParent,omitzero"`
	// Created, Scheduled are the API server's; zero: without one, or not known.
	Created    time.Time   `json:"created,omitzero"`
	Scheduled  time.Time   `json:"scheduled,omitzero"`
	Containers []Container `json:"containers"` // init containers first, in the order of the spec
}

// KindOf a container is init, sidecar, container or ephemeral; empty: the pod has none of that name.
func (p *Pod) KindOf(container string) string {
	for i := range p.Containers {
		if c := &p.Containers[i]; c.Name == container {
			return c.Kind
		}
	}
	return ""
}

// Container is one of a pod's containers.
type Container struct {
	Name string `json:"name"`
	// Kind is init, sidecar, container or ephemeral.
	Kind  string `json:"kind"`
	Image string `json:"image"`
	// MemoryLimitBytes is resources.limits.memory; 0: none.
	MemoryLimitBytes int64 `json:"memoryLimitBytes,omitzero"`
}

// Now is what is known of a pod at the moment, and what it waits for.
type Now struct {
	At    time.Time `json:"at"` // of the last change
	Phase string    `json:"phase"`
	// Stage is syncing, terminating, terminated or gone.
	Stage string `json:"stage"`
	Ready bool   `json:"ready"`
	// Deleting is when the API server was asked to delete the object; zero: it was not.
	Deleting time.Time `json:"deleting,omitzero"`
	// Waits has what the pod and its containers wait for, as the machine says.
	Waits      []lifecycle.Wait `json:"waits,omitzero"`
	Containers []ContainerNow   `json:"containers,omitzero"`
	// Pulls are the images that are being pulled, by name, about once a second.
	Pulls []Pull `json:"pulls,omitzero"`
}

// Pull is how far the pull of an image is.
type Pull struct {
	Image   string        `json:"image"`
	Elapsed time.Duration `json:"elapsed"` // since the pod asked for it
	// DoneBytes and TotalBytes are those of the compressed layers; both 0 if the runtime doesn't
	// tell. Once they are equal the layers are being unpacked.
	DoneBytes  int64 `json:"doneBytes"`
	TotalBytes int64 `json:"totalBytes"`
	// BytesPerSecond came over the last seconds.
	BytesPerSecond int64 `json:"bytesPerSecond"`
	// Layers is how many the image has; 0: not known.
	Layers int `json:"layers,omitempty"`
	// Layer is the one that the pull waits for: the slowest of those that are downloaded, or the
	// one that is unpacked when all are here; nil: none.
	Layer *PullLayer `json:"layer,omitempty"`
}

// PullLayer is how far a layer of an image is.
type PullLayer struct {
	Number int    `json:"number"` // from 1
	Digest string `json:"digest"` // its first 12 digits
	// DoneBytes and TotalBytes of the compressed layer.
	DoneBytes  int64 `json:"doneBytes"`
	TotalBytes int64 `json:"totalBytes"`
}

// ContainerNow is how a container is.
type ContainerNow struct {
	Name     string    `json:"name"`
	State    string    `json:"state"` // waiting, running or terminated
	Reason   string    `json:"reason,omitzero"`
	Message  string    `json:"message,omitzero"`
	Since    time.Time `json:"since,omitzero"`
	Ready    bool      `json:"ready,omitzero"`
	Started  bool      `json:"started,omitzero"`
	Restarts int32     `json:"restarts,omitzero"`
	Exit     *Exit     `json:"exit,omitzero"` // of the last instance that has ended
}

// End is how an instance of a container ended, with what is kept of it.
type End struct {
	Container string `json:"container"`
	Attempt   uint32 `json:"attempt"`
	Exit      Exit   `json:"exit"`
	// Entry is the ID of the entry of the exit; Chain has copies of what led to it, oldest
	// first, and of what was decided: they outlive the entries.
	Entry int64   `json:"entry"`
	Chain []Entry `json:"chain,omitzero"`
	Usage *Usage  `json:"usage,omitzero"`
	// Said is the last line that the process wrote: to stderr, if it wrote there in its last second, else to stdout.
	Said string `json:"said,omitzero"`
	// Killed is the process that the kernel killed because memory was used up; nil: none, or not
	// known.
	Killed *Killed `json:"killed,omitzero"`
}

// Killed is a process.
type Killed struct {
	Process string `json:"process"` // its name
	PID     int    `json:"pid"`     // on the machine
}

// Usage is what the pod had used of the machine when a container of it ended.
type Usage struct {
	MemoryPeakBytes  int64         `json:"memoryPeakBytes,omitzero"`
	MemoryLimitBytes int64         `json:"memoryLimitBytes,omitzero"`
	CPU              time.Duration `json:"cpu,omitzero"`
	Throttled        time.Duration `json:"throttled,omitzero"`
	OOMKills         int64         `json:"oomKills,omitzero"`
}

// Record is what the journal has of one pod.
type Record struct {
	Pod     Pod     `json:"pod"`
	Now     *Now    `json:"now,omitzero"`    // nil: nothing is known
	Living  bool    `json:"living,omitzero"` // a lifepod leads the pod at this moment
	Entries []Entry `json:"entries"`         // oldest first
	Ends    []End   `json:"ends,omitzero"`   // by container, oldest first
	// Left is how many entries between the first and the newest were given up.
	Left int64 `json:"left,omitzero"`
	// Object says that there is no journal: it is what the API server's object says (OfObject).
	Object bool `json:"object,omitzero"`
}

// NewestGroup returns the records of the newest group among pods whose groups had the same name. If all pods of a group were
// deleted before the next pod was created, that pod begins another group, whose attempts start at 0 again. The lives of one
// group's pods overlap, directly or through those of others.
func NewestGroup(records []*Record, now time.Time) (group []*Record) {
	list := slices.Clone(records)
	slices.SortStableFunc(list, func(a, b *Record) int {
		return cmp.Or(endOf(b, now).Compare(endOf(a, now)), cmp.Compare(a.Pod.Name, b.Pod.Name))
	})
	var since time.Time // when the first of the group began
	for _, r := range list {
		if len(group) > 0 && endOf(r, now).Before(since) {
			break
		}
		if begin := beginOf(r, now); len(group) == 0 || begin.Before(since) {
			since = begin
		}
		group = append(group, r)
	}
	return group
}

func beginOf(r *Record, now time.Time) time.Time {
	switch {
	case len(r.Entries) > 0:
		return r.Entries[0].At
	case !r.Pod.Created.IsZero():
		return r.Pod.Created
	}
	return now
}

// endOf is when a pod was deleted, or else was gone; now, if it is there.
func endOf(r *Record, now time.Time) time.Time {
	switch {
	case r.Now == nil:
		return now
	case !r.Now.Deleting.IsZero():
		return r.Now.Deleting
	case r.Now.Stage == lifecycle.Gone.String():
		return r.Now.At
	}
	return now
}

// Source is where a journal is read: a Folder, or another machine's (package journal/remote).
type Source interface {
	// Pods lists the pods that the journal has.
	Pods() ([]Pod, error)
	// Read returns what it has of one; for one that it doesn't have errors.Is(err,
	// fs.ErrNotExist) holds.
	Read(uid string) (*Record, error)
}
