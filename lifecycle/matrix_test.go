package lifecycle

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/lifecycle/group"
)

// matrixPods are pods whose lives pass through every stage and position.
var matrixPods = map[string]string{
	"Always": `{spec: {volumes: [{name: v, emptyDir: {sizeLimit: "1"}}], initContainers: [{name: i}, {name: s, restartPolicy: Always}], containers: [{name: a}, {name: b}]}}`,
	"Never":  `{spec: {restartPolicy: Never, activeDeadlineSeconds: 50, initContainers: [{name: i}], containers: [{name: a}]}}`,
	"rules": `{spec: {restartPolicy: OnFailure, hostNetwork: true, containers: [{name: a, restartPolicy: Never,
		restartPolicyRules: [{action: Restart, exitCodes: {operator: In, values: [42]}}]}]}}`,
	"claims":  `{spec: {resourceClaims: [{name: c, resourceClaimName: c}], containers: [{name: a}]}}`,
	"group":   `{metadata: {annotations: {lifepod.dev/group: jobset}, labels: {jobset.sigs.k8s.io/jobset-name: j}}, spec: {initContainers: [{name: i}], containers: [{name: a}]}}`,
	"volumes": `{spec: {volumes: [{name: v, persistentVolumeClaim: {claimName: v}}], containers: [{name: a}]}}`,
	"probes": `{spec: {readinessGates: [{conditionType: g}], initContainers: [{name: s, restartPolicy: Always, startupProbe: {failureThreshold: 1}}],
		containers: [{name: a, startupProbe: {}, livenessProbe: {failureThreshold: 1}, readinessProbe: {}}]}}`,
}

// TestMatrix feeds every kind of fact in every position of some lives: the
// right one, one with an unknown or a spent ID, and each twice. Whatever comes,
// the machine does not panic, nothing goes back and nothing is begun twice.
func TestMatrix(t *testing.T) {
	t.Parallel()
	positions, pairs := 0, 0
	for name, text := range matrixPods {
		seen := map[string]bool{}
		for _, p := range prefixes(t, text) {
			if seen[p.position()] {
				continue
			}
			seen[p.position()] = true
			positions++
			for _, f := range everyFact(p) {
				pairs++
				pair(t, p, f, fmt.Sprintf("%s, %s, fact %T%+v", name, p.position(), f, f))
			}
		}
	}
	t.Logf("%d positions, %d pairs", positions, pairs)
}

// pair feeds one fact twice.
func pair(t *testing.T, p *transcript, f Fact, where string) {
	m, now := p.m.Clone(), p.now
	for range 2 {
		now = now.Add(time.Millisecond)
		was := m.Clone()
		lawful(at{t, where}, was, m, m.Step(Event{At: now, Fact: f}))
	}
}

// at says where a law was broken.
type at struct {
	t     *testing.T
	where string
}

func (a at) Fatalf(format string, args ...any) {
	a.t.Helper()
	a.t.Fatalf("%s: %s", a.where, fmt.Sprintf(format, args...))
}

// position distinguishes the positions that are worth trying separately.
func (tr *transcript) position() string {
	m := tr.m
	text := fmt.Sprint(m.kept.Stage, m.sandbox.State, m.setup.volumes.op != 0, m.setup.groupsKnown(), m.claims.prepared.op != 0, m.claims.unprepared.op != 0, m.release.volumes.done, m.kept.StraySandbox, m.observing.op != 0)
	for _, c := range m.containers {
		text += fmt.Sprint(" ", c.spec.Name, c.Position, c.Exit != nil, c.Image.Present, c.Image.op != 0, c.Image.pull, c.stopping.op != 0, c.Failure != nil)
		for _, p := range c.Probes {
			text += fmt.Sprint(p.op != 0, p.Verdict)
		}
	}
	return text
}

// prefixes plays a life in which each call is refused once, then unanswered once, and
// then works, and which crashes, loses its sandbox and is stopped. It returns a copy of
// the world after each step.
func prefixes(t testing.TB, text string) []*transcript {
	pod := &v1.Pod{}
	assert.Must(t, yaml.Unmarshal([]byte(text), pod))
	defaults(pod)
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	tr := newTranscript(pod, DefaultOptions(), start)
	var list []*transcript
	keep := func(f Fact) {
		tr.now = tr.now.Add(time.Millisecond)
		tr.feed(f)
		list = append(list, &transcript{m: tr.m.Clone(), now: tr.now, pending: slices.Clone(tr.pending)})
	}
	list = append(list, &transcript{m: tr.m.Clone(), now: tr.now})
	keep(Accepted{})
	keep(EphemeralContainerAdded{Container: namedEphemeral("e", "")})
	tried := map[string]int{}
	for i := range 400 {
		switch {
		case len(tr.pending) > 0:
			e := tr.pending[0]
			tr.pending = slices.Clone(tr.pending[1:])
			tried[effectName(e)]++
			for _, f := range troubled(tr, e, tried[effectName(e)]) {
				keep(f)
			}
		case tr.m.inGroup() && !tr.m.group.Open && tr.m.Stage() == Syncing:
			keep(GroupSeen{Attempts: group.Attempts{Current: tr.m.GroupAttempt()}})
		case i%3 == 0 && len(tr.runtime.Sandboxes) > 0 && i > 120 && i < 125:
			keep(SandboxExited{SandboxID: tr.runtime.Sandboxes[len(tr.runtime.Sandboxes)-1].ID})
		case i < 200 && endNext(t, tr, keep):
		case i >= 200 && tr.m.Stage() == Syncing:
			keep(StopRequested{})
		default:
			tr.now = later(tr.now.Add(time.Second), tr.wakeAt)
			keep(Woke{})
		}
	}
	assert.Require(t, tr.m.Stage() == Gone, "the life does not end: %v", tr.m.Stage())
	return list
}

// troubled refuses the first call of a kind, does not answer the second, and then answers
// normally.
func troubled(tr *transcript, e Effect, try int) []Fact {
	switch try {
	case 1:
		return []Fact{AnswerTo(e, &Failure{Message: "refused"})}
	case 2:
		return []Fact{AnswerTo(e, &Failure{Class: Uncertain, Message: "deadline exceeded"})}
	}
	if _, ok := e.(Probe); ok && try%7 == 0 {
		return []Fact{Probed{Result: Result{ID: e.EffectID()}, Outcome: ProbeFailure}}
	}
	return tr.runtime.carryOut(e, tr.now)
}

// endNext ends some process: init containers with 0, the others with 42.
func endNext(t testing.TB, tr *transcript, keep func(Fact)) bool {
	for _, o := range tr.runtime.Containers {
		if o.State != StateRunning || o.Name == "s" && o.Attempt > 0 {
			continue
		}
		code := int32(42)
		if o.Name == "i" {
			code = 0
		}
		keep(tr.runtime.end(t, o.ID, ContainerExited{ExitCode: code, Reason: "Error", FinishedAt: tr.now}))
		return true
	}
	return false
}

// everyFact returns every kind of fact: for each effect under way, for IDs that are spent
// or unknown, and for each container and sandbox, past or present.
func everyFact(p *transcript) []Fact {
	facts := []Fact{EphemeralContainerAdded{Container: namedEphemeral("e", "")}, EphemeralContainerAdded{Container: namedEphemeral("f", "a")}, Accepted{}, Resumed{}, Resumed{ClockChanged: time.Hour}, Rejected{Reason: "OutOfcpu", Message: "m"}, Woke{}, ClockChanged{By: -time.Hour}, StopRequested{}, StopRequested{GraceSeconds: new(int64(1))}, StopRequested{Force: true}, Observed{Began: p.now.Add(time.Microsecond)}}
	facts = append(facts, objectsOf(p)...)
	for _, t := range []v1.PodConditionType{v1.PodReady, "g"} {
		facts = append(facts, ConditionSet{}, ConditionSet{Condition: v1.PodCondition{Type: t, Status: v1.ConditionTrue}})
	}
	for _, id := range []EffectID{0, 1, p.m.kept.LastID + 100} {
		facts = append(facts, answers(id, nil, p.now)...)
	}
	for _, e := range p.pending {
		id := e.EffectID()
		facts = append(facts, answers(id, nil, p.now)...)
		for _, class := range []FailureClass{Failed, Uncertain, Unavailable, Cancelled, NotFound} {
			facts = append(facts, answers(id, &Failure{Class: class, Message: "m"}, p.now)...)
		}
	}
	known := []string{"", "unknown"}
	for _, c := range p.m.containers {
		known = append(known, c.ID, c.PreviousID)
	}
	for _, id := range known {
		facts = append(facts, ContainerRunning{ContainerID: id}, ContainerExited{ContainerID: id, ExitCode: 1, Reason: "Error"}, ContainerExited{ContainerID: id, Reason: "StartError", ExitCode: 128})
	}
	for _, n := range []*int32{nil, new(int32(0)), new(p.m.group.Attempt), new(p.m.group.Attempt + 1)} {
		facts = append(facts, GroupSeen{Attempts: group.Attempts{Current: n}}, GroupSeen{Attempts: group.Attempts{Previous: n}})
	}
	facts = append(facts, GroupSeen{Alone: Because{Text: "another strategy"}}, GroupSeen{Unknown: Because{Text: "not found"}})
	return append(facts, SandboxExited{}, SandboxExited{SandboxID: "unknown"}, SandboxExited{SandboxID: p.m.sandbox.ID})
}

// objectsOf are the objects that the pod's source may send.
func objectsOf(p *transcript) []Fact {
	same, overtaken, images, deleted, soon := p.m.RequestedPod(), p.m.RequestedPod(), p.m.RequestedPod(), p.m.RequestedPod(), p.m.RequestedPod()
	overtaken.Generation = max(1, overtaken.Generation-1)
	images.Generation++
	images.Labels = map[string]string{"edited": "yes"}
	images.Spec.Containers[0].Image, images.Spec.Containers[0].Resources = "new:1", resourcesOf("1m", "1Mi")
	images.Spec.EphemeralContainers = append(images.Spec.EphemeralContainers, namedEphemeral("g", ""))
	deleted.Generation++
	deleted.DeletionTimestamp, deleted.DeletionGracePeriodSeconds = &metav1.Time{Time: p.now.Add(20 * time.Second)}, new(int64(20))
	soon.DeletionTimestamp = &metav1.Time{Time: p.now.Add(-time.Hour)}
	return []Fact{
		PodUpdated{Pod: same}, PodUpdated{Pod: overtaken}, PodUpdated{Pod: images}, PodUpdated{Pod: deleted}, PodUpdated{Pod: soon},
		EvictionRequested{Reason: "Evicted", Message: "m", Disruption: "d"}, EvictionRequested{Reason: "Evicted", GraceSeconds: new(int64(0))},
		ResizeRequested{Containers: []ContainerResources{{Name: p.m.containers[0].spec.Name, Resources: resourcesOf("1m", "1Mi")}}}, RoomFreed{}, DriverRegistered{}, SpaceNeeded{}, DevicesChanged{}, DevicesChanged{Containers: devicesOf("a", v1.ResourceHealthStatusUnhealthy)}, ObjectsChanged{Because: Because{Text: "b"}}, RestartRequested{}, RestartRequested{Container: "a", Graceful: true},
	}
}

func answers(id EffectID, f *Failure, began time.Time) []Fact {
	r, image := Result{ID: id, Failure: f}, &ImageInfo{ID: "i"}
	return []Fact{
		CgroupEnsured{r}, ClaimsPrepared{r}, ClaimsUnprepared{r}, VolumesFound{id}, VolumesMounted{r}, VolumesRefreshed{r}, StorageMeasured{Result: r, Volumes: []StorageUsage{{Name: "v", Bytes: 2}}}, SandboxCreated{Result: r, SandboxID: "new"}, SandboxStopped{r}, SandboxRemoved{r},
		ImageInspected{Result: r}, ImageInspected{Result: r, Image: image}, ImagePulled{Result: r, Image: image},
		ContainerCreated{Result: r, ContainerID: "new"}, ContainerStarted{Result: r}, ContainerStopped{r}, ContainerRemoved{r},
		VolumesUnmounted{r}, CgroupRemoved{r}, ResizeAdmitted{Result: r}, ResizeAdmitted{Result: r, Reason: "Deferred"},
		MemoryMeasured{Result: r, Pod: 1 << 40}, CgroupResized{r}, ContainerResized{Result: r}, Observed{Result: r, Began: began}, HookEnded{Result: r}, Published{Result: r},
		Probed{Result: r}, Probed{Result: r, Outcome: ProbeFailure}, Probed{Result: r, Outcome: ProbeFailure, Late: time.Minute}, Probed{Result: r, Outcome: ProbeError},
	}
}

// TestEveryFactIsTried: the matrix has each fact that is declared.
func TestEveryFactIsTried(t *testing.T) {
	tried := map[string]bool{}
	for _, text := range matrixPods {
		for _, p := range prefixes(t, text) {
			for _, f := range everyFact(p) {
				tried[reflect.TypeOf(f).Name()] = true
			}
		}
	}
	for _, name := range factTypes(t) {
		assert.True(t, tried[name], "the matrix does not try %s", name)
	}
}

// factTypes are the names of all types of facts.
func factTypes(t *testing.T) []string {
	t.Helper()
	files := assert.Get(filepath.Glob("*.go")).Must(t)
	var names []string
	for _, file := range files {
		parsed := assert.Get(parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)).Must(t)
		for _, d := range parsed.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv != nil && f.Name.Name == "apply" {
				names = append(names, f.Recv.List[0].Type.(*ast.Ident).Name)
			}
		}
	}
	assert.Require(t, len(names) != 0, "no facts are declared")
	return names
}
