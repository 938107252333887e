package lifecycle

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"time"

	v1 "k8s.io/api/core/v1"
)

// CheckpointVersion is the version of Checkpoint that this lifepod writes. Each new field
// raises it, and each change of a field's meaning: an older lifepod refuses a version
// that it does not know and adopts the pod from the runtime and the API (Adopt). Earlier
// versions are read; the folder checkpoints has real ones of each.
const CheckpointVersion = 4

// Checkpoint is the part of a machine's state that neither the pod's spec nor the runtime
// can give back. It is written before the effects of the step are carried out, so that
// the next lifepod knows everything that was begun. Restore makes a machine from it
// (B-RST-1..14).
//
// Its types are those of the state. Their exported fields are kept: they make up the
// checkpoint, under the names of their tags. The others are volatile: they can be found
// or done again, as their comments say.
type Checkpoint struct {
	Version    int         `json:"version"`
	UID        string      `json:"uid"` // of the pod
	Generation int64       `json:"generation,omitzero"`
	Spec       *v1.PodSpec `json:"spec,omitempty"` // if it has changed since the pod was accepted

	kept
	Sandbox    sandbox     `json:"sandbox"`
	Containers []container `json:"containers"`
	Stop       stop        `json:"stop,omitzero"`
	RestartAll restartAll  `json:"round,omitzero"`
	Group      membership  `json:"group,omitzero"`
	Resize     resize      `json:"resize,omitzero"`

	// Clock is set by the caller. It tells the next lifepod whether the wall clock was
	// changed in between, which Resumed reports.
	Clock Clock `json:"clock,omitzero"`
}

// Clock records how a machine's wall clock is set.
type Clock struct {
	Boot    string    `json:"boot"`    // ID of this boot of the machine; empty if unknown
	Started time.Time `json:"started"` // when it booted, by the wall clock as it is set now
}

// ToSave says whether the last Step changed anything that the next lifepod must know.
// Sending a probe does not, nor does a result equal to the previous ones, so a pod that
// is only being probed needs no save.
func (m *Machine) ToSave() bool { return m.toSave }

// Checkpoint returns the state that must survive a kill -9. Later steps do not change it.
// Save it after each Step for which ToSave says so, before the step's effects are carried
// out.
func (m *Machine) Checkpoint() Checkpoint {
	c := Checkpoint{
		Version: CheckpointVersion, UID: string(m.pod.UID), Generation: m.pod.Generation, Spec: m.changedSpec(),
		kept: m.kept, Sandbox: m.sandbox, Stop: m.stop, RestartAll: m.restartAll, Group: m.group, Resize: m.resize,
	}
	c.ImageBack, c.Resize.Held = maps.Clone(m.kept.ImageBack), m.resize.unsettled()
	for _, container := range m.containers {
		c.Containers = append(c.Containers, *container)
	}
	if m.sandbox.State == sandboxCreating { // if lifepod is killed now, the answer is lost
		c.StraySandbox, c.Doubt = true, later(c.Doubt, m.sandbox.touchedAt.Add(lostSandboxDoubt))
	}
	return c
}

// changedSpec is the pod's spec if it differs from the one that New was given, else nil.
func (m *Machine) changedSpec() *v1.PodSpec {
	if m.pod.Generation == m.generation {
		return nil
	}
	return m.pod.Spec.DeepCopy()
}

// UnmarshalJSON reads a checkpoint. If the version is newer, the error says so instead of
// naming the first unknown word.
func (c *Checkpoint) UnmarshalJSON(text []byte) error {
	type plain Checkpoint
	if err := json.Unmarshal(text, (*plain)(c)); err != nil {
		return cmp.Or(c.readable(), err)
	}
	return nil
}

func (c *Checkpoint) readable() error {
	if c.Version < 1 || c.Version > CheckpointVersion {
		return fmt.Errorf("checkpoint version %d: this lifepod reads versions 1 to %d", c.Version, CheckpointVersion)
	}
	return nil
}

// asWritten returns the checkpoint as its file has it, without volatile fields.
func (c Checkpoint) asWritten() (written Checkpoint, err error) {
	text, err := json.Marshal(c)
	if err == nil {
		err = json.Unmarshal(text, &written)
	}
	return written, err
}

// MarshalText writes the stage by its name, as all positions in a checkpoint.
func (s Stage) MarshalText() ([]byte, error)        { return []byte(s.String()), nil }
func (p position) MarshalText() ([]byte, error)     { return []byte(p.String()), nil }
func (s sandboxState) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
func (v probeVerdict) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText reads the stage of that name.
func (s *Stage) UnmarshalText(name []byte) error        { return find(s, name, Gone) }
func (p *position) UnmarshalText(name []byte) error     { return find(p, name, uncertain) }
func (s *sandboxState) UnmarshalText(name []byte) error { return find(s, name, sandboxUncertain) }
func (v *probeVerdict) UnmarshalText(name []byte) error { return find(v, name, probeFailed) }

// find sets v to the position of that name; last is the highest one.
func find[T interface {
	~int
	String() string
}](v *T, name []byte, last T) error {
	for known := T(0); known <= last; known++ {
		if known.String() == string(name) {
			*v = known
			return nil
		}
	}
	return fmt.Errorf("checkpoint has the unknown word %q", name)
}

// apply goes on with a restored or adopted pod. What has happened meanwhile is not
// known: nothing is planned before a snapshot, so that no healthy container is touched
// (B-RST-1). The status is handed out unchanged; nothing in it flips (B-RST-6).
func (Resumed) apply(s *step) {
	Accepted{}.apply(s)
	s.notAhead()
	because := BecauseKind("its-lifepod-had-ended")
	if s.adopted {
		because = "another-agent-has-begun-it"
	}
	tell(s, Report{Subject: ofPod, Kind: "resumes", On: s.pod.Namespace + "/" + s.pod.Name, Because: Because{Kind: because}, Rule: "B-RST-1"})
	if s.pod.Status.Phase != "" || !s.adopted { // else nothing is known of it before the first snapshot
		s.do(Publish{Status: s.kept.Reported})
	}
	endIfTerminal(s)
	for _, c := range s.containers {
		c.Probes[ReadinessProbe].Next = time.Time{} // readiness is probed at once, the others when they are due
	}
	if s.sandbox.State == sandboxUncertain {
		s.kept.Doubt = later(s.kept.Doubt, s.now.Add(time.Second))
	}
}

// lostSandboxDoubt is how long after its start the runtime may go on with a RunPodSandbox
// whose caller was killed, before it gives up by itself.
const lostSandboxDoubt = 5 * time.Second
