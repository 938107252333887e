package lifecycle

import (
	"time"

	v1 "k8s.io/api/core/v1"
)

// CheckpointVersion is the version of Checkpoint that this lifepod writes. Each new
// field raises it, and each that changes its meaning: an older lifepod refuses what it
// does not know, and leads the pod on from what runtime and API say (Adopt). Earlier
// versions are read; checkpoints has real ones of each.
const CheckpointVersion = 2

// Checkpoint is all of a machine's state that neither the pod's spec nor the
// runtime can give back, as plain data for a file. It is written before the
// effects of the step are carried out, so that whatever was begun is known to
// have been begun; Restore makes a machine of it that goes on (B-RST-1..14).
//
// What is not in it is found again by looking, or done again because it does no
// harm: the list with the reasons is in checkpoint_test.go, which fails for a
// field of the state that is in neither.
type Checkpoint struct {
	Version    int         `json:"version"`
	UID        string      `json:"uid"` // of the pod
	Generation int64       `json:"generation,omitzero"`
	Spec       *v1.PodSpec `json:"spec,omitempty"` // if it has changed since the pod was accepted
	Stage      string      `json:"stage"`
	StartTime  time.Time   `json:"startTime,omitzero"` // A-CST-18

	Sandbox      SandboxCheckpoint            `json:"sandbox,omitzero"`
	Containers   []ContainerCheckpoint        `json:"containers"`
	InitTurn     int                          `json:"initTurn,omitzero"`
	Stop         StopCheckpoint               `json:"stop,omitzero"`
	Deleted      bool                         `json:"deleted,omitzero"`
	Round        RoundCheckpoint              `json:"round,omitzero"`
	Resize       ResizeCheckpoint             `json:"resize,omitzero"`
	StraySandbox bool                         `json:"untidy,omitzero"`
	Doubt        time.Time                    `json:"doubt,omitzero"`
	ImageBack    map[string]BackOffCheckpoint `json:"imageBackOff,omitempty"` // by image as written

	Reported v1.PodStatus `json:"reported"`
	LastID   EffectID     `json:"lastID"`

	// Drift is by how much the wall clock was changed since the pod began.
	Drift time.Duration `json:"drift,omitzero"`
	// Clock is the caller's: by it the next one knows whether the wall clock was
	// changed meanwhile, which Resumed says.
	Clock Clock `json:"clock,omitzero"`
}

// Clock says how the wall clock of a machine stands.
type Clock struct {
	Boot    string    `json:"boot"`    // which start of the machine it is; empty: not known
	Started time.Time `json:"started"` // when that was, by the wall clock as it stands
}

// SandboxCheckpoint is the newest sandbox.
type SandboxCheckpoint struct {
	State   string    `json:"state"`
	ID      string    `json:"id,omitzero"`
	Attempt uint32    `json:"attempt,omitzero"`
	IPs     []string  `json:"ips,omitempty"`
	RetryAt time.Time `json:"retryAt,omitzero"`
}

// StopCheckpoint is why and until when a pod ends. The deadline is absolute: a
// restart of lifepod gets what is left of it (B-WRK-10).
type StopCheckpoint struct {
	Cause    Cause     `json:"cause,omitzero"`
	Deadline time.Time `json:"deadline,omitzero"`
	Force    bool      `json:"force,omitzero"`
	GaveUp   bool      `json:"gaveUp,omitzero"`
	Reason   string    `json:"reason,omitzero"`
	Message  string    `json:"message,omitzero"`

	Disruption string    `json:"disruption,omitzero"`
	OverdueAt  time.Time `json:"overdueAt,omitzero"`
}

// RoundCheckpoint is an in-place restart of all containers: one that had begun is
// finished, not begun again (B-RAC-23).
type RoundCheckpoint struct {
	Active    bool      `json:"active,omitzero"`
	Graceful  bool      `json:"graceful,omitzero"`
	Because   string    `json:"because,omitzero"`
	Announced bool      `json:"announced,omitzero"` // everybody has seen AllContainersRestarting=True
	Ever      bool      `json:"ever,omitzero"`
	NotBefore time.Time `json:"notBefore,omitzero"`
	Allowance time.Time `json:"allowance,omitzero"`
}

// ImageCheckpoint is where a container's image is, for the next start.
type ImageCheckpoint struct {
	Present bool      `json:"present,omitzero"`
	Info    ImageInfo `json:"info,omitzero"`
	Refused *Failure  `json:"refused,omitempty"`
	RetryAt time.Time `json:"retryAt,omitzero"`
}

// BackOffCheckpoint is a place on a back-off curve.
type BackOffCheckpoint struct {
	Delay time.Duration `json:"delay"`
	From  time.Time     `json:"from"`
}
