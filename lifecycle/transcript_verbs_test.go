package lifecycle

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/lifepod/lifepod/internal/assert"
)

// pretendedRuntime remembers what effects have made, so that snapshots can be taken.
type pretendedRuntime struct {
	sandboxes    []ObservedSandbox
	containers   []ObservedContainer
	addressesOut bool // new sandboxes get no address
}

// carryOut does what the effect asks for and gives the facts that follow.
func (r *pretendedRuntime) carryOut(t fataler, e Effect, now time.Time) []Fact {
	ok := Result{ID: e.EffectID()}
	info := &ImageInfo{ID: "sha256:1", Ref: "img@sha256:1", SizeBytes: 1000}
	switch e := e.(type) {
	case EnsureCgroup:
		return []Fact{CgroupEnsured{ok}}
	case MountVolumes:
		return []Fact{VolumesMounted{ok}}
	case RefreshVolumes:
		return []Fact{VolumesRefreshed{ok}}
	case MeasureStorage:
		return []Fact{StorageMeasured{Result: ok}}
	case PrepareClaims:
		return []Fact{ClaimsPrepared{ok}}
	case UnprepareClaims:
		return []Fact{ClaimsUnprepared{ok}}
	case CreateSandbox:
		id, ips := fmt.Sprintf("sandbox%d", e.Attempt), []string{"10.0.0.2"}
		if r.addressesOut {
			ips = nil
		}
		r.sandboxes = append(r.sandboxes, ObservedSandbox{ID: id, Attempt: e.Attempt, Ready: true, IPs: ips})
		return []Fact{SandboxCreated{Result: ok, SandboxID: id, IPs: ips}}
	case StopSandbox:
		return []Fact{SandboxStopped{ok}}
	case RemoveSandbox:
		r.sandboxes = slices.DeleteFunc(r.sandboxes, func(s ObservedSandbox) bool { return s.ID == e.SandboxID })
		return []Fact{SandboxRemoved{ok}}
	case InspectImage:
		return []Fact{ImageInspected{Result: ok, Image: info}}
	case PullImage:
		return []Fact{ImagePulled{Result: ok, Image: info, Took: time.Second}}
	case UnmountVolumes:
		return []Fact{VolumesUnmounted{ok}}
	case RemoveCgroup:
		return []Fact{CgroupRemoved{ok}}
	case Observe:
		return []Fact{r.snapshot(ok, now)}
	case Publish:
		return []Fact{Published{ok}}
	}
	return r.carryOutContainer(t, e, now)
}

func (r *pretendedRuntime) carryOutContainer(t fataler, e Effect, now time.Time) []Fact {
	ok := Result{ID: e.EffectID()}
	switch e := e.(type) {
	case CreateContainer:
		id := fmt.Sprintf("%s-%d", e.Container, e.Attempt)
		r.containers = append(r.containers, ObservedContainer{ID: id, Name: e.Container, Attempt: e.Attempt, SandboxID: e.SandboxID})
		return []Fact{ContainerCreated{Result: ok, ContainerID: id}}
	case StartContainer:
		if c := r.byID(t, e.ContainerID); c.State == StateCreated {
			c.State = StateRunning
		}
		return []Fact{ContainerStarted{Result: ok}}
	case StopContainer:
		exit := r.end(t, e.ContainerID, ContainerExited{ExitCode: 143, Reason: "Error", FinishedAt: now})
		return []Fact{exit, ContainerStopped{ok}}
	case RemoveContainer:
		r.containers = slices.DeleteFunc(r.containers, func(c ObservedContainer) bool { return c.ID == e.ContainerID })
		return []Fact{ContainerRemoved{ok}}
	case Probe:
		return []Fact{Probed{Result: ok}}
	case RunHook:
		return []Fact{HookEnded{Result: ok}}
	case ResizeContainer:
		return []Fact{ContainerResized{Result: ok}}
	case AdmitResize:
		return []Fact{ResizeAdmitted{Result: ok}}
	case MeasureMemory:
		return []Fact{MemoryMeasured{Result: ok}}
	case ResizeCgroup:
		return []Fact{CgroupResized{ok}}
	}
	t.Fatalf("no answer known for %T", e)
	return nil
}

func (r *pretendedRuntime) snapshot(ok Result, now time.Time) Observed {
	return Observed{
		Result: ok, Began: now.Add(time.Nanosecond),
		Sandboxes: slices.Clone(r.sandboxes), Containers: slices.Clone(r.containers),
	}
}

func (r *pretendedRuntime) byID(t fataler, id string) *ObservedContainer {
	for i := range r.containers {
		if r.containers[i].ID == id {
			return &r.containers[i]
		}
	}
	t.Fatalf("the pretended runtime has no container %q", id)
	return nil
}

// idOf is the newest instance of a container.
func (r *pretendedRuntime) idOf(t *testing.T, name string) string {
	id := ""
	for _, c := range r.containers {
		if c.Name == name {
			id = c.ID
		}
	}
	assert.Require(t, id != "", "the pretended runtime has no container named %q", name)
	return id
}

func (r *pretendedRuntime) forget(t *testing.T, name string) {
	id := r.idOf(t, name)
	r.containers = slices.DeleteFunc(r.containers, func(c ObservedContainer) bool { return c.ID == id })
}

func (r *pretendedRuntime) end(t fataler, id string, exit ContainerExited) ContainerExited {
	exit.ContainerID = id
	c := r.byID(t, id)
	c.State, c.Exit = StateExited, &exit
	return exit
}

func (tr *transcript) exit(t *testing.T, d *datadriven.TestData) {
	exit := ContainerExited{ExitCode: int32(intArg(t, d, "code")), Reason: "Error", Message: stringArg(d, "message"), FinishedAt: tr.now}
	if exit.ExitCode == 0 {
		exit.Reason = "Completed"
	}
	if r := stringArg(d, "reason"); r != "" {
		exit.Reason = r
	}
	fact := tr.runtime.end(t, tr.runtime.idOf(t, d.CmdArgs[0].Key), exit)
	if !d.HasArg("unseen") {
		tr.feed(fact)
	}
}

// answer gives one pending effect an answer of its own.
func (tr *transcript) answer(t *testing.T, d *datadriven.TestData) {
	name, container := d.CmdArgs[0].Key, ""
	if len(d.CmdArgs) > 1 && len(d.CmdArgs[1].Vals) == 0 && !slices.Contains([]string{"absent", "done", "quiet", "late", "untrue"}, d.CmdArgs[1].Key) {
		container = d.CmdArgs[1].Key
	}
	i := slices.IndexFunc(tr.pending, func(e Effect) bool {
		return effectName(e) == name && (container == "" || strings.Contains(effectText(e), " "+container))
	})
	assert.Require(t, i >= 0, "%s: no pending %s %s", d.Pos, name, container)
	failure := failureArg(t, d)
	switch {
	case failure != nil && d.HasArg("done"): // it was carried out, the answer was lost
		tr.runtime.carryOut(t, tr.pending[i], tr.now)
		fallthrough
	case failure != nil:
		e := tr.pending[i]
		tr.pending = slices.Delete(tr.pending, i, i+1)
		tr.feed(AnswerTo(e, failure))
	case d.HasArg("quiet"): // it works, but the events that go with it are lost
		e := tr.pending[i]
		tr.pending = slices.Delete(tr.pending, i, i+1)
		facts := tr.runtime.carryOut(t, e, tr.now)
		tr.feed(facts[len(facts)-1])
	case d.HasArg("late"): // the answer takes a millisecond
		e := tr.pending[i]
		tr.pending = slices.Delete(tr.pending, i, i+1)
		facts := tr.runtime.carryOut(t, e, tr.now)
		tr.now = tr.now.Add(time.Millisecond)
		tr.feed(facts[len(facts)-1])
	case d.HasArg("untrue"): // it is called done and is not
		e := tr.pending[i]
		tr.pending = slices.Delete(tr.pending, i, i+1)
		tr.feed(ContainerStopped{Result{ID: e.EffectID()}})
	case d.HasArg("absent"):
		id := tr.pending[i].EffectID()
		tr.pending = slices.Delete(tr.pending, i, i+1)
		tr.feed(ImageInspected{Result: Result{ID: id}})
	default:
		tr.succeed(t, i)
	}
}

func (tr *transcript) addresses(d *datadriven.TestData) {
	if d.HasArg("lost") {
		tr.runtime.sandboxes[len(tr.runtime.sandboxes)-1].IPs = nil
		return
	}
	tr.runtime.addressesOut = d.HasArg("out")
}

func (tr *transcript) sandboxExits(d *datadriven.TestData) {
	for i := range tr.runtime.sandboxes {
		if s := &tr.runtime.sandboxes[i]; s.ID == stringArg(d, "unreported") {
			s.Ready = false
			return
		}
	}
	newest := &tr.runtime.sandboxes[len(tr.runtime.sandboxes)-1]
	newest.Ready = false
	tr.feed(SandboxExited{SandboxID: newest.ID})
}

func (tr *transcript) observe(d *datadriven.TestData) {
	tr.now = tr.now.Add(time.Millisecond)
	snapshot := tr.runtime.snapshot(Result{}, tr.now)
	if d.HasArg("empty") {
		snapshot.Sandboxes, snapshot.Containers = nil, nil
	}
	tr.feed(snapshot)
}

func holdArg(d *datadriven.TestData) []string {
	for _, a := range d.CmdArgs {
		if a.Key == "hold" {
			return a.Vals
		}
	}
	return nil
}

func stringArg(d *datadriven.TestData, key string) string {
	for _, a := range d.CmdArgs {
		if a.Key == key && len(a.Vals) > 0 {
			return strings.Join(a.Vals, ",")
		}
	}
	return ""
}

func intArg(t *testing.T, d *datadriven.TestData, key string) int64 {
	n, err := strconv.ParseInt(stringArg(d, key), 10, 64)
	assert.Require(t, err == nil, "%s: %s: %v", d.Pos, key, err)
	return n
}

func stopArg(t *testing.T, d *datadriven.TestData) StopRequested {
	f := StopRequested{Force: d.HasArg("force"), Because: Because{Text: stringArg(d, "because")}}
	if d.HasArg("grace") {
		f.GraceSeconds = new(intArg(t, d, "grace"))
	}
	return f
}

func failureArg(t *testing.T, d *datadriven.TestData) *Failure {
	if !d.HasArg("error") && !d.HasArg("class") {
		return nil
	}
	classes := map[string]FailureClass{
		"": Failed, "uncertain": Uncertain, "unavailable": Unavailable, "cancelled": Cancelled, "notfound": NotFound,
	}
	class, ok := classes[stringArg(d, "class")]
	if !ok {
		t.Fatalf("%s: unknown class %q", d.Pos, stringArg(d, "class"))
	}
	return &Failure{Class: class, Reason: stringArg(d, "reason"), Message: stringArg(d, "error")}
}

// loop lets a container start and exit, over and over.
func (tr *transcript) loop(t *testing.T, d *datadriven.TestData) {
	for range intArg(t, d, "times") {
		tr.settle(t, nil)
		for tr.m.containerNamed(d.CmdArgs[0].Key).Position != running {
			assert.Require(t, !tr.wakeAt.IsZero(), "%s: %s is not going to run", d.Pos, d.CmdArgs[0].Key)
			tr.advance(t, tr.wakeAt.Sub(tr.now).String())
			tr.settle(t, nil)
		}
		tr.exit(t, d)
	}
}
