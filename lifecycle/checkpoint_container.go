package lifecycle

import (
	"time"

	v1 "k8s.io/api/core/v1"
)

// ContainerCheckpoint is one container and, in Instance, its newest instance.
type ContainerCheckpoint struct {
	Name         string                       `json:"name"`
	Instance     InstanceCheckpoint           `json:"instance"`
	RestartCount int32                        `json:"restartCount,omitzero"`
	Failures     int32                        `json:"failures,omitzero"`
	Last         *v1.ContainerStateTerminated `json:"last,omitempty"`
	LastDone     bool                         `json:"lastDone,omitzero"` // it had completed
	PreviousID   string                       `json:"previousID,omitzero"`
	Actuated     v1.ResourceRequirements      `json:"actuated,omitzero"`
	Image        ImageCheckpoint              `json:"image,omitzero"`
	Outdated     bool                         `json:"outdated,omitzero"`
	Failure      *Failure                     `json:"failure,omitempty"`
	RetryAt      time.Time                    `json:"retryAt,omitzero"`
	BackOff      BackOffCheckpoint            `json:"backOff,omitzero"`
	RoundBackOff BackOffCheckpoint            `json:"roundBackOff,omitzero"`
	RestartedAt  []time.Time                  `json:"restartedAt,omitempty"`
}

// InstanceCheckpoint is one run of a container.
type InstanceCheckpoint struct {
	Position  string                       `json:"position"`
	ID        string                       `json:"id,omitzero"`
	ImageName string                       `json:"imageName,omitzero"`
	ImageRef  string                       `json:"imageRef,omitzero"`
	User      *v1.ContainerUser            `json:"user,omitempty"`
	StartedAt time.Time                    `json:"startedAt,omitzero"`
	Since     time.Time                    `json:"since,omitzero"`
	Exit      *v1.ContainerStateTerminated `json:"exit,omitempty"`
	EndedAt   time.Time                    `json:"endedAt,omitzero"`
	Asked     bool                         `json:"asked,omitzero"`
	Requested bool                         `json:"requested,omitzero"`
	CutOff    bool                         `json:"cutOff,omitzero"`
	NextBegun bool                         `json:"nextBegun,omitzero"`
	Verdict   VerdictCheckpoint            `json:"verdict,omitzero"`
	PostStart HookCheckpoint               `json:"postStart,omitzero"`
	Stopping  bool                         `json:"stopping,omitzero"` // its preStop hook has begun, or it has none
	Kill      *KillCheckpoint              `json:"kill,omitempty"`
	Probes    [3]ProbeCheckpoint           `json:"probes,omitzero"` // by ProbeKind
	Reported  *v1.ResourceRequirements     `json:"reported,omitempty"`
}

// HookCheckpoint is how the one run of a lifecycle hook went.
type HookCheckpoint struct {
	Ended  bool `json:"ended,omitzero"`
	Failed bool `json:"failed,omitzero"`
}

// ProbeCheckpoint is where one probe of an instance is: with its verdict kept,
// started and ready do not flip (B-RST-6, B-RST-8).
type ProbeCheckpoint struct {
	Next    time.Time `json:"next,omitzero"`
	Run     int32     `json:"run,omitzero"`
	Failing bool      `json:"failing,omitzero"`
	Verdict string    `json:"verdict,omitzero"` // succeeded or failed, empty before there is one
}

// VerdictCheckpoint is what was decided at an exit, once (A-RST-4).
type VerdictCheckpoint struct {
	Restart   bool   `json:"restart,omitzero"`
	All       bool   `json:"all,omitzero"`
	Complete  bool   `json:"complete,omitzero"`
	Terminate bool   `json:"terminate,omitzero"`
	Limit     bool   `json:"limit,omitzero"`
	Because   string `json:"because,omitzero"`
	Rule      string `json:"rule,omitzero"`
}

// KillCheckpoint is the end of one container that was asked for while its pod
// goes on.
type KillCheckpoint struct {
	Message   string             `json:"message,omitzero"`
	Decided   time.Time          `json:"decided,omitzero"`
	Deadline  time.Time          `json:"deadline,omitzero"`
	Force     bool               `json:"force,omitzero"`
	Requested bool               `json:"requested,omitzero"`
	Uncounted bool               `json:"uncounted,omitzero"`
	Verdict   *VerdictCheckpoint `json:"verdict,omitempty"`
	Failure   *Failure           `json:"failure,omitempty"`
}
