package lifecycle

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// afresh are the fields of the state that are not in a Checkpoint, by
// type.field, and why none of them needs to outlive a kill -9.
var afresh = map[string]string{
	"given.pod":             "the caller keeps it and gives it to Restore",
	"given.options":         "the caller gives them to Restore",
	"given.generation":      "the accepted pod's",
	"state.setup":           "idempotent, and the shell has to know the volumes: done again",
	"state.storage":         "it is measured again at once",
	"state.refresh":         "volumes are made again after a kill -9, from the objects as they are then",
	"state.imageVolumes":    "their images are looked for again; the back-off is kept by the name of the image",
	"bookkeeping.wakeAt":    "the timer died with its process: asked for again",
	"bookkeeping.observing": "a snapshot is the first thing that is asked for again",
	"bookkeeping.adopted":   "from then on there is a checkpoint",
	"bookkeeping.away":      "it is what Restore sets",
	"bookkeeping.deletion":  "the object says it again",
	"bookkeeping.unseen":    "it is what Restore sets",
	"bookkeeping.toSave":    "belongs to its step",
	"bookkeeping.passing":   "the call whose answer the status waits for is lost",

	"given.tuning":         "the pod's annotations",
	"given.restartAllRule": "the pod's",
	"round.announce":       "belongs to its step",
	"work.op":              "a call under way is lost: asked for again",
	"work.failure":         "told when it came",
	"work.retryAt":         "tried again at once",
	"role.tuning":          "the pod's annotations",
	"container.removal":    "removing twice is removing once",

	"sandbox.op":        "a call under way is lost: the state becomes uncertain, or is asked for again",
	"sandbox.touchedAt": "every snapshot is newer than the checkpoint",

	"stop.grace":  "only on the way into terminate, which makes it the deadline",
	"stop.report": "told when it was decided",

	"release.volumes": "idempotent: done again",
	"release.sandbox": "idempotent: done again",
	"release.cgroup":  "idempotent: done again",
	"release.told":    "told again: deleting twice is deleting once",
	"release.kept":    "the volumes are given back again",

	"role.spec":   "the pod's",
	"role.kind":   "the pod's",
	"role.target": "the pod's",

	"instance.op":        "a call under way is lost: the position becomes uncertain",
	"instance.touchedAt": "every snapshot is newer than the checkpoint",
	"hookRun.op":         "a hook under way is lost with the process that ran it",
	"probe.op":           "an attempt under way is lost, and made again",
	"probe.late":         "belongs to the attempt under way",
	"probe.told":         "told again",
	"probe.void":         "attempts that were not made count as nothing",
	"kill.report":        "told when it was decided",

	"stopping.preStop":    "one that had begun is over: its process died with the call (preStop at most once)",
	"stopping.op":         "a stop under way is lost: asked for again with what is left (B-WRK-10)",
	"stopping.deadline":   "belongs to the call under way",
	"stopping.killAt":     "belongs to the call under way",
	"stopping.retryAt":    "tried again at once",
	"stopping.untrue":     "counted anew",
	"stopping.doubted":    "looked at anew",
	"stopping.unanswered": "the first snapshot says whether it still runs",

	"resize.admit":    "the node is asked again",
	"resize.room":     "idempotent: done again",
	"resize.measured": "idempotent: done again",
	"resize.call":     "a call under way is lost: asked for again",
	"resize.retryAt":  "tried again at once",

	"image.op":    "a pull or inspection under way is lost: asked for again",
	"image.since": "belongs to the pull under way",
}

// TestEverythingSurvives fills every field of a machine, takes it through a
// checkpoint as a file would keep it, and demands each field back, but for
// those of which afresh says why not (B-RST-4, B-RST-9).
func TestEverythingSurvives(t *testing.T) {
	pod := checkpointPod()
	was := New(pod, DefaultOptions())
	fill(t, reflect.ValueOf(was).Elem(), "Machine")
	got, err := Restore(pod, DefaultOptions(), throughJSON(t, was.Checkpoint()))
	if err != nil {
		t.Fatal(err)
	}
	c := survival{t: t, used: map[string]bool{}}
	c.compare("Machine", reflect.ValueOf(was).Elem(), reflect.ValueOf(got).Elem())
	for field := range afresh {
		if !c.used[field] {
			t.Errorf("afresh names %s, which the state does not have", field)
		}
	}
}

func checkpointPod() *v1.Pod {
	pod := &v1.Pod{Spec: v1.PodSpec{
		InitContainers: []v1.Container{{Name: "i"}}, Containers: []v1.Container{{Name: "a"}},
	}}
	defaults(pod)
	return pod
}

// throughJSON is what a file makes of a checkpoint.
func throughJSON(t fataler, c Checkpoint) Checkpoint {
	data, err := json.Marshal(c)
	if err != nil {
		t.Fatalf("%v", err)
	}
	var read Checkpoint
	if err := json.Unmarshal(data, &read); err != nil {
		t.Fatalf("%v", err)
	}
	return read
}

// survival compares a machine with the one that was made of its checkpoint.
type survival struct {
	t    *testing.T
	used map[string]bool // entries of afresh
}

func (c survival) compare(path string, was, got reflect.Value) {
	switch {
	case was.Kind() == reflect.Pointer && isOurs(was.Type()):
		if got.IsNil() {
			c.lost(path)
			return
		}
		c.compare(path, was.Elem(), got.Elem())
	case was.Kind() != reflect.Struct && isOurs(was.Type()):
		c.compareAll(path, was, got)
	case was.Kind() == reflect.Struct && isOurs(was.Type()):
		for i := range was.NumField() {
			field := was.Type().Name() + "." + was.Type().Field(i).Name
			if afresh[field] != "" {
				c.used[field] = true
				continue
			}
			c.compare(path+"."+was.Type().Field(i).Name, open(was.Field(i)), open(got.Field(i)))
		}
	case !reflect.DeepEqual(was.Interface(), got.Interface()):
		c.lost(fmt.Sprintf("%s (%v becomes %v)", path, was.Interface(), got.Interface()))
	}
}

func (c survival) compareAll(path string, was, got reflect.Value) {
	if was.Len() != got.Len() || was.Len() == 0 {
		c.lost(path)
		return
	}
	if was.Kind() == reflect.Map {
		for _, key := range was.MapKeys() {
			if value := got.MapIndex(key); value.IsValid() {
				c.compare(path+"["+key.String()+"]", was.MapIndex(key), value)
			} else {
				c.lost(path)
			}
		}
		return
	}
	for i := range was.Len() {
		c.compare(fmt.Sprintf("%s[%d]", path, i), was.Index(i), got.Index(i))
	}
}

func (c survival) lost(path string) {
	c.t.Errorf("%s does not survive a kill -9: put it into the Checkpoint (checkpoint.go, checkpoint_take.go, restore.go), or into afresh (checkpoint_test.go) with the reason why not", path)
}

// isOurs says that a type is one of the machine's own structs, or leads to one.
func isOurs(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		return isOurs(t.Elem())
	}
	return t.Kind() == reflect.Struct && t.PkgPath() == reflect.TypeFor[Machine]().PkgPath()
}

// open makes a field that is not exported accessible.
func open(v reflect.Value) reflect.Value {
	return reflect.NewAt(v.Type(), unsafe.Pointer(v.UnsafeAddr())).Elem()
}

// samples are the values of types that are not just filled: a position at which
// nothing is under way, and parts of the API that JSON keeps.
func samples() map[reflect.Type]any {
	requirements := v1.ResourceRequirements{Requests: v1.ResourceList{"cpu": resource.MustParse("1")}}
	allocation := []ContainerResources{{Name: "i"}, {Name: "a", Resources: requirements}}
	return map[reflect.Type]any{
		reflect.TypeFor[[]ContainerResources]():        allocation,
		reflect.TypeFor[[][]ContainerResources]():      [][]ContainerResources{allocation, {{Name: "i"}, {Name: "a"}}},
		reflect.TypeFor[v1.ResourceRequirements]():     requirements,
		reflect.TypeFor[v1.PodCondition]():             v1.PodCondition{Type: "x", LastProbeTime: metav1.Unix(1e9, 0)},
		reflect.TypeFor[Stage]():                       Terminating,
		reflect.TypeFor[position]():                    running,
		reflect.TypeFor[sandboxState]():                sandboxReady,
		reflect.TypeFor[imageState]():                  imagePresent,
		reflect.TypeFor[time.Time]():                   time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC),
		reflect.TypeFor[v1.PodStatus]():                v1.PodStatus{Phase: v1.PodRunning, PodIP: "10.0.0.2"},
		reflect.TypeFor[v1.ContainerUser]():            v1.ContainerUser{Linux: &v1.LinuxContainerUser{UID: 7}},
		reflect.TypeFor[v1.ContainerStateTerminated](): v1.ContainerStateTerminated{ExitCode: 7, FinishedAt: metav1.Unix(1e9, 0)},
	}
}

// fill gives every field that is to survive a value other than zero.
func fill(t *testing.T, v reflect.Value, path string) {
	if sample, ok := samples()[v.Type()]; ok {
		v.Set(reflect.ValueOf(sample))
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(1)
	case reflect.Uint32, reflect.Uint64:
		v.SetUint(1)
	case reflect.String:
		v.SetString("x")
	case reflect.Pointer:
		if v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
		}
		fill(t, v.Elem(), path)
	case reflect.Slice, reflect.Array:
		if v.Len() == 0 {
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		}
		for i := range v.Len() {
			fill(t, v.Index(i), path)
		}
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(t, key, path)
		fill(t, value, path)
		v.SetMapIndex(key, value)
	case reflect.Struct:
		for i := range v.NumField() {
			field := v.Type().Field(i)
			if name := v.Type().Name() + "." + field.Name; afresh[name] == "" {
				fill(t, open(v.Field(i)), path+"."+field.Name)
			}
		}
	default:
		t.Fatalf("%s: fill does not know what to put into a %s: teach it", path, v.Type())
	}
}

// What was changed in the pod during its life survives, too (A-CRI-5, A-COND-7).
func TestChangedSpecSurvives(t *testing.T) {
	m := New(checkpointPod(), DefaultOptions())
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	m.Step(Event{At: now, Fact: Accepted{}})
	if m.Checkpoint().Spec != nil {
		t.Error("an unchanged spec is in the checkpoint")
	}
	added := v1.EphemeralContainer{EphemeralContainerCommon: v1.EphemeralContainerCommon{Name: "e", Image: "img:1"}}
	m.Step(Event{At: now, Fact: EphemeralContainerAdded{Container: added}})
	m.Step(Event{At: now, Fact: ConditionSet{Condition: v1.PodCondition{Type: "example.com/gate", Status: v1.ConditionTrue}}})
	for range 2 { // a machine that was restored is saved again
		restored, err := Restore(checkpointPod(), DefaultOptions(), throughJSON(t, m.Checkpoint()))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(m.Pod(), restored.Pod()); diff != "" {
			t.Errorf("pod (-want +got):\n%s", diff)
		}
		m = restored
	}
}

// Each position has a name of its own, which Restore finds again.
func TestPositionsHaveNames(t *testing.T) {
	for p := range uncertain + 1 {
		if got, err := named(p.String(), uncertain); got != p || err != nil {
			t.Errorf("position %s is read as %s, %v", p, got, err)
		}
	}
	for s := range sandboxUncertain + 1 {
		if got, err := named(s.String(), sandboxUncertain); got != s || err != nil {
			t.Errorf("sandbox %s is read as %s, %v", s, got, err)
		}
	}
}

// A checkpoint that can't be used is one clear error.
func TestRestoreRefuses(t *testing.T) {
	tests := []struct {
		name  string
		spoil func(*Checkpoint)
		want  string
	}{
		{"newer", func(c *Checkpoint) { c.Version++ }, "checkpoint version 3: this lifepod reads versions 1 to 2"},
		{"other pod", func(c *Checkpoint) { c.UID = "other" }, `checkpoint of the pod with UID "other", not of "uid"`},
		{"fewer containers", func(c *Checkpoint) { c.Containers = c.Containers[:1] }, "checkpoint of 1 containers, the pod has 2"},
		{"other container", func(c *Checkpoint) { c.Containers[1].Name = "b" }, `checkpoint of container "b", the pod has "a" in its place`},
		{"stage", func(c *Checkpoint) { c.Stage = "asleep" }, `checkpoint says "asleep", which is none of this lifepod's words`},
		{"position", func(c *Checkpoint) { c.Containers[0].Instance.Position = "" }, `checkpoint says "", which is none of this lifepod's words`},
		{"sandbox", func(c *Checkpoint) { c.Sandbox.State = "gone" }, `checkpoint says "gone", which is none of this lifepod's words`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := New(checkpointPod(), DefaultOptions()).Checkpoint()
			test.spoil(&c)
			_, err := Restore(checkpointPod(), DefaultOptions(), c)
			if err == nil || strings.TrimSpace(err.Error()) != test.want {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
}
