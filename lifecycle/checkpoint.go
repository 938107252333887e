package lifecycle

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"time"

	v1 "k8s.io/api/core/v1"
)

// CheckpointVersion is the version of Checkpoint that this lifepod writes. Each new
// field raises it, and each that changes its meaning: an older lifepod refuses what it
// does not know, and leads the pod on from what runtime and API say (Adopt). Earlier
// versions are read; checkpoints has real ones of each.
const CheckpointVersion = 2

// Checkpoint is all of a machine's state that neither the pod's spec nor the runtime can
// give back. It is written before the effects of the step are carried out, so that
// whatever was begun is known to have been begun; Restore makes a machine of it that goes
// on (B-RST-1..14).
//
// Its types are those of the state. In each of them the exported fields are kept: they
// are the text of the checkpoint, under the names of their tags. The others are volatile:
// found again by looking, or done again because that does no harm, as their comments say.
type Checkpoint struct {
	Version    int         `json:"version"`
	UID        string      `json:"uid"` // of the pod
	Generation int64       `json:"generation,omitzero"`
	Spec       *v1.PodSpec `json:"spec,omitempty"` // if it has changed since the pod was accepted

	kept
	Sandbox    sandbox     `json:"sandbox"`
	Containers []container `json:"containers"`
	Stop       stop        `json:"stop,omitzero"`
	Round      round       `json:"round,omitzero"`
	Resize     resize      `json:"resize,omitzero"`

	// Clock is the caller's: by it the next one knows whether the wall clock was
	// changed meanwhile, which Resumed says.
	Clock Clock `json:"clock,omitzero"`
}

// Clock says how the wall clock of a machine stands.
type Clock struct {
	Boot    string    `json:"boot"`    // which start of the machine it is; empty: not known
	Started time.Time `json:"started"` // when that was, by the wall clock as it stands
}

// ToSave says whether the last Step has changed anything that the next lifepod
// must know. A probe that was sent, or that went as the ones before, has not: in
// a pod that is only being probed nothing is to be saved.
func (m *Machine) ToSave() bool { return m.toSave }

// Checkpoint is the machine's state as it must outlive a kill -9. It does not change
// with later steps. Save it after each Step after which ToSave says so, before the
// step's effects are carried out.
func (m *Machine) Checkpoint() Checkpoint {
	c := Checkpoint{
		Version: CheckpointVersion, UID: string(m.pod.UID), Generation: m.pod.Generation, Spec: m.changedSpec(),
		kept: m.kept, Sandbox: m.sandbox, Stop: m.stop, Round: m.round, Resize: m.resize,
	}
	c.ImageBack, c.Resize.Held = maps.Clone(m.kept.ImageBack), m.resize.unsettled()
	for _, container := range m.containers {
		c.Containers = append(c.Containers, *container)
	}
	if m.sandbox.State == sandboxCreating { // nobody will hear of it if lifepod is killed now
		c.StraySandbox, c.Doubt = true, later(c.Doubt, m.sandbox.touchedAt.Add(lostSandboxDoubt))
	}
	return c
}

// changedSpec is the pod's spec if it is not the one that New was given.
func (m *Machine) changedSpec() *v1.PodSpec {
	if m.pod.Generation == m.generation {
		return nil
	}
	return m.pod.Spec.DeepCopy()
}

// UnmarshalJSON reads a checkpoint. One of a newer version is refused as such, and not
// for a word that it has.
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

// asWritten is the checkpoint as its file would have it: nothing volatile is in it.
func (c Checkpoint) asWritten() (written Checkpoint, err error) {
	text, err := json.Marshal(c)
	if err == nil {
		err = json.Unmarshal(text, &written)
	}
	return written, err
}

// MarshalText has a stage stand in a checkpoint by its name, as all positions do.
func (s Stage) MarshalText() ([]byte, error)        { return []byte(s.String()), nil }
func (p position) MarshalText() ([]byte, error)     { return []byte(p.String()), nil }
func (s sandboxState) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
func (v probeVerdict) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText finds the stage of that name.
func (s *Stage) UnmarshalText(name []byte) error        { return find(s, name, Gone) }
func (p *position) UnmarshalText(name []byte) error     { return find(p, name, uncertain) }
func (s *sandboxState) UnmarshalText(name []byte) error { return find(s, name, sandboxUncertain) }
func (v *probeVerdict) UnmarshalText(name []byte) error { return find(v, name, probeFailed) }

// find sets v to the position of that name; last is the last that there is.
func find[T interface {
	~int
	String() string
}](v *T, name []byte, last T) error {
	for *v = 0; *v <= last; *v++ {
		if (*v).String() == string(name) {
			return nil
		}
	}
	return fmt.Errorf("checkpoint says %q, which is none of this lifepod's words", name)
}
