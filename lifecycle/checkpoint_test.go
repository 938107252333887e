package lifecycle

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lifepod/lifepod/internal/assert"
)

// volatile are the parts of the state that do not outlive lifepod, by type or by
// type.field; their comments say why none of them needs to.
var volatile = []string{
	"given", "bookkeeping", "derived",
	"state.setup", "state.claims", "state.release", "state.imageVolumes", "state.storage", "state.refresh", "state.devices",
	"role", "underWay", "fetching", "attempt", "resizing", "stopping", "removal",
	"hookRun.op", "kill.report", "restartAll.announcing", "restartAll.announce", "sandbox.failure", "sandbox.unfit", "membership.heard", "membership.unknown", "membership.size", "membership.mode", "membership.way",
}

// TestEverythingSurvives fills every field of a machine, takes it through a checkpoint
// file, and checks that every field that is not volatile comes back (B-RST-4, B-RST-9).
func TestEverythingSurvives(t *testing.T) {
	pod := checkpointPod()
	was := New(pod, DefaultOptions())
	fill(t, reflect.ValueOf(was).Elem(), "Machine")
	for _, c := range was.containers {
		c.Name = c.spec.Name
	}
	got := assert.Get(Restore(pod, DefaultOptions(), throughJSON(t, was.Checkpoint()))).Must(t)
	c := survival{t: t, used: map[string]bool{}}
	c.compare("Machine", reflect.ValueOf(was).Elem(), reflect.ValueOf(got).Elem())
	for _, name := range volatile {
		assert.True(t, c.used[name], "volatile names %s, which the state does not have", name)
	}
}

func checkpointPod() *v1.Pod {
	pod := &v1.Pod{Spec: v1.PodSpec{
		InitContainers: []v1.Container{{Name: "i"}}, Containers: []v1.Container{{Name: "a"}},
	}}
	defaults(pod)
	return pod
}

// throughJSON writes a checkpoint to JSON and reads it back.
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

// survival compares a machine with the one made from its checkpoint.
type survival struct {
	t    *testing.T
	used map[string]bool // entries of volatile
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
			if name := volatileName(was.Type(), i); name != "" {
				c.used[name] = true
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
				c.compare(path+"["+key.String()+"]", addressable(was.MapIndex(key)), addressable(value))
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

func addressable(v reflect.Value) reflect.Value {
	copied := reflect.New(v.Type()).Elem()
	copied.Set(v)
	return copied
}

func (c survival) lost(path string) {
	c.t.Errorf("%s does not survive a kill -9: give it an exported name and a tag, or a comment why it need not, and an entry in volatile", path)
}

// volatileName is the entry of volatile that a field falls under, empty if it is kept.
func volatileName(of reflect.Type, i int) string {
	for _, name := range []string{of.Field(i).Type.Name(), of.Name() + "." + of.Field(i).Name} {
		if slices.Contains(volatile, name) {
			return name
		}
	}
	return ""
}

// isOurs says whether a type is one of the machine's own structs, or leads to one.
func isOurs(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		return isOurs(t.Elem())
	}
	return t.Kind() == reflect.Struct && strings.HasPrefix(t.PkgPath(), reflect.TypeFor[Machine]().PkgPath())
}

// open makes an unexported field accessible.
func open(v reflect.Value) reflect.Value {
	return reflect.NewAt(v.Type(), unsafe.Pointer(v.UnsafeAddr())).Elem()
}

// samples are the values of types that are not just filled: a position at which
// nothing is under way, and parts of the API that JSON keeps.
func samples() map[reflect.Type]any {
	requirements := v1.ResourceRequirements{Requests: v1.ResourceList{"cpu": resource.MustParse("1")}}
	whole := Allocation{Pod: &requirements, Containers: []ContainerResources{{Name: "i"}, {Name: "a", Resources: requirements}}}
	return map[reflect.Type]any{
		reflect.TypeFor[Allocation]():                  whole,
		reflect.TypeFor[[]Allocation]():                []Allocation{whole, {Containers: []ContainerResources{{Name: "i"}, {Name: "a"}}}},
		reflect.TypeFor[v1.ResourceRequirements]():     requirements,
		reflect.TypeFor[v1.PodCondition]():             v1.PodCondition{Type: "x", LastProbeTime: metav1.Unix(1e9, 0)},
		reflect.TypeFor[Stage]():                       Terminating,
		reflect.TypeFor[position]():                    running,
		reflect.TypeFor[sandboxState]():                sandboxReady,
		reflect.TypeFor[probeVerdict]():                probeSucceeded,
		reflect.TypeFor[time.Time]():                   time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC),
		reflect.TypeFor[v1.PodStatus]():                v1.PodStatus{Phase: v1.PodRunning, PodIP: "10.0.0.2"},
		reflect.TypeFor[v1.ContainerUser]():            v1.ContainerUser{Linux: &v1.LinuxContainerUser{UID: 7}},
		reflect.TypeFor[v1.ContainerStateTerminated](): v1.ContainerStateTerminated{ExitCode: 7, FinishedAt: metav1.Unix(1e9, 0)},
	}
}

// fill gives every field that must survive a nonzero value.
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
			if volatileName(v.Type(), i) == "" {
				fill(t, open(v.Field(i)), path+"."+v.Type().Field(i).Name)
			}
		}
	default:
		t.Fatalf("%s: fill does not know what to put into a %s: teach it", path, v.Type())
	}
}

// Changes of the pod during its life survive too (A-CRI-5, A-COND-7).
func TestChangedSpecSurvives(t *testing.T) {
	m := New(checkpointPod(), DefaultOptions())
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	m.Step(Event{At: now, Fact: Accepted{}})
	assert.True(t, m.Checkpoint().Spec == nil, "an unchanged spec is in the checkpoint")
	added := v1.EphemeralContainer{EphemeralContainerCommon: v1.EphemeralContainerCommon{Name: "e", Image: "img:1"}}
	m.Step(Event{At: now, Fact: EphemeralContainerAdded{Container: added}})
	m.Step(Event{At: now, Fact: ConditionSet{Condition: v1.PodCondition{Type: "example.com/gate", Status: v1.ConditionTrue}}})
	for range 2 { // a machine that was restored is saved again
		restored := assert.Get(Restore(checkpointPod(), DefaultOptions(), throughJSON(t, m.Checkpoint()))).Must(t)
		assert.Deep(t, "pod", m.Pod(), restored.Pod())
		m = restored
	}
}

// Each position has its own name, by which it is found again.
func TestPositionsHaveNames(t *testing.T) {
	namesOf(t, Gone, func(name []byte) (s Stage, err error) { return s, s.UnmarshalText(name) })
	namesOf(t, uncertain, func(name []byte) (p position, err error) { return p, p.UnmarshalText(name) })
	namesOf(t, sandboxUncertain, func(name []byte) (s sandboxState, err error) { return s, s.UnmarshalText(name) })
	namesOf(t, probeFailed, func(name []byte) (v probeVerdict, err error) { return v, v.UnmarshalText(name) })
}

func namesOf[T interface {
	~int
	encoding.TextMarshaler
}](t *testing.T, last T, read func([]byte) (T, error)) {
	for v := T(0); v <= last; v++ {
		name := assert.Get(v.MarshalText()).Must(t)
		got, err := read(name)
		assert.True(t, got == v && err == nil, "%T %s is read as %v, %v", v, name, got, err)
	}
}

// A checkpoint that can't be used is one clear error.
func TestRestoreRefuses(t *testing.T) {
	tests := []struct {
		name     string
		was, now string // of the checkpoint's text
		want     string
	}{
		{"newer", `"version":4`, `"version":5`, "checkpoint version 5: this lifepod reads versions 1 to 4"},
		{"newer, with a stage of its own", `"version":4,"uid":"uid","generation":1,"stage":"syncing"`, `"version":5,"stage":"asleep"`, "checkpoint version 5: this lifepod reads versions 1 to 4"},
		{"other pod", `"uid":"uid"`, `"uid":"other"`, `checkpoint of the pod with UID "other", not of "uid"`},
		{"fewer containers", `"containers":[{`, `"containers":[],"unknown":[{`, "checkpoint of 0 containers, the pod has 2"},
		{"other container", `"name":"a"`, `"name":"b"`, `checkpoint of container "b", the pod has "a" in its place`},
		{"stage", `"stage":"syncing"`, `"stage":"asleep"`, `checkpoint has the unknown word "asleep"`},
		{"position", `"position":"absent"`, `"position":""`, `checkpoint has the unknown word ""`},
		{"sandbox", `"state":"none"`, `"state":"gone"`, `checkpoint has the unknown word "gone"`},
	}
	text := assert.Get(json.Marshal(New(checkpointPod(), DefaultOptions()).Checkpoint())).Must(t)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			spoiled := strings.Replace(string(text), test.was, test.now, 1)
			assert.Require(t, spoiled != string(text), "%s is not in %s", test.was, text)
			var c Checkpoint
			err := json.Unmarshal([]byte(spoiled), &c)
			if err == nil {
				_, err = Restore(checkpointPod(), DefaultOptions(), c)
			}
			assert.True(t, err != nil && err.Error() == test.want, "got %v, want %s", err, test.want)
		})
	}
}
