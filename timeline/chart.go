package timeline

import (
	"time"

	"github.com/lifepod/lifepod/internal/sentence"
	"github.com/lifepod/lifepod/journal"
)

// Chart is what happened to one pod, or to a group whose pods restart as one, over time.
type Chart struct {
	Pod     Pod       `json:"pod"`            // of a group its name, without the rest
	Group   *Group    `json:"group,omitzero"` // nil: it is of a pod
	Begin   time.Time `json:"begin"`          // when the pod was created, or what else is known first
	End     time.Time `json:"end"`            // when the pod was gone; now, if it is not
	Gone    bool      `json:"gone"`
	Held    bool      `json:"held,omitzero"` // it is gone from its node, and finalizers hold its object
	Phase   string    `json:"phase,omitzero"`
	ReadyAt time.Time `json:"readyAt,omitzero"` // of the first time; zero: not yet, or never
	Rows    []Row     `json:"rows"`
	Path    Path      `json:"criticalPath"`
	// Language is what its sentences are in, and what who draws it has to speak.
	Language sentence.Language `json:"-"`
	// Left is how many entries the journal has given up between the first and the newest.
	Left int64 `json:"entriesLeftOut,omitzero"`
}

// Pod is whose chart it is.
type Pod struct {
	UID       string            `json:"uid"`
	Namespace string            `json:"namespace"`
	Name      string            `json:"name"`
	Node      string            `json:"node,omitzero"`
	Owner     string            `json:"owner,omitzero"`
	Labels    map[string]string `json:"labels,omitzero"`
	// TraceParent is the trace that the pod's life is part of, in the form of W3C; empty: one of its own.
	TraceParent string `json:"traceParent,omitzero"`
}

// FullName is namespace/name.
func (p Pod) FullName() string { return p.Namespace + "/" + p.Name }

type RowKind string

// The kinds of rows.
const (
	PodRow       RowKind = "pod"
	CgroupRow    RowKind = "cgroup"
	ClaimsRow    RowKind = "claims"
	VolumesRow   RowKind = "volumes"
	SandboxRow   RowKind = "sandbox"
	ImageRow     RowKind = "image"
	ContainerRow RowKind = "container" // of any kind: Of says which
	ProbeRow     RowKind = "probe"
	AttemptsRow  RowKind = "rounds" // of a group: what it waits for
	MemberRow    RowKind = "member" // of a group: one of its pods
)

// Row is one line of a chart. Its bars don't overlap, but for calls that were begun twice.
type Row struct {
	Kind RowKind `json:"kind"`
	Name string  `json:"name"`
	// Container is the container that it is about; empty: the pod.
	Container string `json:"container,omitzero"`
	// Of is the container's kind: init, sidecar, container or ephemeral.
	Of    string `json:"of,omitzero"`
	Bars  []Bar  `json:"bars,omitzero"`
	Marks []Mark `json:"marks,omitzero"`
}

// Bar is something that lasted.
type Bar struct {
	ID    int64     `json:"id,omitzero"` // the journal's entry that it began with
	Step  Step      `json:"step"`
	Label string    `json:"label"` // "image pull of main"
	Begin time.Time `json:"begin"`
	End   time.Time `json:"end"`           // of an open one, the chart's
	Open  bool      `json:"open,omitzero"` // it goes on, or nobody knows how it ended

	Attempt  uint32           `json:"attempt,omitzero"` // which instance of the container
	Image    string           `json:"image,omitzero"`
	Bytes    uint64           `json:"bytes,omitzero"` // the image's size
	Failure  *journal.Failure `json:"failure,omitzero"`
	Exit     *journal.Exit    `json:"exit,omitzero"`  // if the instance ended with the bar
	Notes    []Note           `json:"notes,omitzero"` // what was decided about it, oldest first
	Critical bool             `json:"critical,omitzero"`
}

// Duration is how long it lasted, or has lasted up to now.
func (b *Bar) Duration() time.Duration { return b.End.Sub(b.Begin) }

// Failed says that it did not do what it was for.
func (b *Bar) Failed() bool { return b.Failure != nil || b.Exit != nil && b.Exit.Code != 0 }

// Note is a line of the pod's story.
type Note struct {
	Text string `json:"text"`
	Rule string `json:"rule,omitzero"` // of the contract
}

// Mark is something that happened at one time.
type Mark struct {
	At     time.Time `json:"at"`
	Name   string    `json:"name"`
	Text   string    `json:"text,omitzero"`
	Rule   string    `json:"rule,omitzero"`
	Failed bool      `json:"failed,omitzero"`
}

// Path is what the pod's first Ready had to wait for; of a pod that never was Ready, its end or
// the present. Of a group it is that of its newest attempt, until all run.
type Path struct {
	To     string    `json:"to"` // Ready, a phase, "all run", or "now"
	At     time.Time `json:"at"`
	Pieces []Piece   `json:"pieces,omitzero"` // without gaps, from the chart's begin to At
	Shares []Share   `json:"shares,omitzero"` // the same by label, the largest first
}

// Duration is how long the path is.
func (p *Path) Duration() time.Duration {
	if len(p.Pieces) == 0 {
		return 0
	}
	return p.At.Sub(p.Pieces[0].Begin)
}

// Piece is one step of a path.
type Piece struct {
	Step  Step      `json:"step"`
	Label string    `json:"label"`
	Begin time.Time `json:"begin"`
	End   time.Time `json:"end"`
}

// Share is how much of a path the steps of one label take.
type Share struct {
	Label   string        `json:"label"`
	Took    time.Duration `json:"nanoseconds"`
	Percent int           `json:"percent"` // rounded
	Image   string        `json:"image,omitzero"`
	Bytes   uint64        `json:"bytes,omitzero"`
}
