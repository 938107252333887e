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

// allWorks is the answer to an effect if everything works and every image is there.
func allWorks(r *PretendedRuntime, e Effect, now time.Time) Fact {
	image := &ImageInfo{ID: "sha256:1", Ref: "img@sha256:1", SizeBytes: 1000}
	switch e := e.(type) {
	case InspectImage:
		return ImageInspected{Result: Result{ID: e.ID}, Image: image}
	case PullImage:
		return ImagePulled{Result: Result{ID: e.ID}, Image: image, Took: time.Second}
	}
	return r.Do(e, now)
}

// pretendedRuntime is that of transcripts. Instances have their attempts in their IDs, and that one runs is told by a verb.
type pretendedRuntime struct {
	PretendedRuntime
	exits []Fact // that nobody was told yet
}

func newPretendedRuntime() *pretendedRuntime {
	r := &pretendedRuntime{}
	r.IPs, r.NewID, r.Tell = usualIPs, idOf, r.hears
	return r
}

// carryOut does what the effect asks for and gives the facts that follow.
func (r *pretendedRuntime) carryOut(e Effect, now time.Time) []Fact {
	r.exits = nil
	switch e := e.(type) {
	case StartContainer:
		if c := r.Container(e.ContainerID); c != nil && c.State == StateExited {
			return []Fact{AnswerTo(e, nil)} // it ended before the start is answered
		}
	case Observe:
		return []Fact{r.snapshot(Result{ID: e.ID}, now)}
	}
	answer := allWorks(&r.PretendedRuntime, e, now)
	return append(r.exits, answer)
}

func (r *pretendedRuntime) hears(event Fact) {
	if _, is := event.(ContainerExited); is {
		r.exits = append(r.exits, event)
	}
}

func idOf(name string, attempt uint32) string {
	if name == "sandbox" {
		return fmt.Sprintf("sandbox%d", attempt)
	}
	return fmt.Sprintf("%s-%d", name, attempt)
}

func (r *pretendedRuntime) snapshot(result Result, now time.Time) Observed {
	return r.Snapshot(result, now.Add(time.Nanosecond))
}

// newest is the newest instance of a container.
func (r *pretendedRuntime) newest(t *testing.T, name string) *PretendedContainer {
	for _, c := range slices.Backward(r.Containers) {
		if c.Name == name {
			return c
		}
	}
	t.Fatalf("the pretended runtime has no container named %q", name)
	return nil
}

// end ends an instance, also one whose start is yet to be answered.
func (r *pretendedRuntime) end(t fataler, id string, exit ContainerExited) ContainerExited {
	c := r.Container(id)
	if c == nil {
		t.Fatalf("the pretended runtime has no container %q", id)
	}
	c.State = StateRunning
	r.End(c, exit, exit.FinishedAt)
	return *c.Exit
}

func (tr *transcript) exit(t *testing.T, d *datadriven.TestData) {
	exit := ContainerExited{ExitCode: int32(intArg(t, d, "code")), Reason: "Error", Message: stringArg(d, "message"), FinishedAt: tr.now}
	if exit.ExitCode == 0 {
		exit.Reason = "Completed"
	}
	if r := stringArg(d, "reason"); r != "" {
		exit.Reason = r
	}
	fact := tr.runtime.end(t, tr.runtime.newest(t, d.CmdArgs[0].Key).ID, exit)
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
	if failure := failureArg(t, d); failure != nil {
		e := tr.take(i)
		if d.HasArg("done") { // it was carried out, the answer was lost
			tr.runtime.carryOut(e, tr.now)
		}
		tr.feed(AnswerTo(e, failure))
		return
	}
	switch {
	case d.HasArg("quiet"): // it works, but the events that go with it are lost
		facts := tr.runtime.carryOut(tr.take(i), tr.now)
		tr.feed(facts[len(facts)-1])
	case d.HasArg("late"): // the answer takes a millisecond
		facts := tr.runtime.carryOut(tr.take(i), tr.now)
		tr.now = tr.now.Add(time.Millisecond)
		tr.feed(facts[len(facts)-1])
	case d.HasArg("untrue"), d.HasArg("absent"): // a stop is called done and is not, an image is not there
		tr.feed(AnswerTo(tr.take(i), nil))
	default:
		tr.succeed(i)
	}
}

func (tr *transcript) addresses(d *datadriven.TestData) {
	switch tr.runtime.IPs = usualIPs; {
	case d.HasArg("lost"):
		tr.runtime.Sandboxes[len(tr.runtime.Sandboxes)-1].IPs = nil
	case d.HasArg("out"):
		tr.runtime.IPs = nil
	}
}

func (tr *transcript) sandboxExits(d *datadriven.TestData) {
	if s := tr.runtime.Sandbox(stringArg(d, "unreported")); s != nil {
		s.Ready = false
		return
	}
	newest := tr.runtime.Sandboxes[len(tr.runtime.Sandboxes)-1]
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
