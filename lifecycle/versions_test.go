package lifecycle

import (
	"encoding"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/lifepod/lifepod/internal/assert"
)

// keptCheckpoint is a file of checkpoints/versionN: what a lifepod of that version
// left of a real pod when it was killed.
type keptCheckpoint struct {
	Pod        *v1.Pod         `json:"pod"` // as it was accepted
	Checkpoint json.RawMessage `json:"checkpoint"`
}

// TestEarlierVersionsAreRead: after an upgrade pods go on where they were. A machine has
// everything that a checkpoint of an earlier version says.
func TestEarlierVersionsAreRead(t *testing.T) {
	for version := 1; version <= CheckpointVersion; version++ {
		files, err := filepath.Glob(fmt.Sprintf("checkpoints/version%d/*.json", version))
		assert.True(t, err == nil && (len(files) != 0 || version >= CheckpointVersion),
			"no checkpoint of version %d is kept (%v): kill -9 a lifepod of that version", version, err)
		for _, file := range files {
			t.Run(file, func(t *testing.T) { readKept(t, file, version) })
		}
	}
}

func readKept(t *testing.T, file string, version int) {
	data := assert.Get(os.ReadFile(file)).Must(t)
	var kept keptCheckpoint
	var from Checkpoint
	assert.Must(t, json.Unmarshal(data, &kept))
	assert.Must(t, json.Unmarshal(kept.Checkpoint, &from))
	assert.True(t, from.Version == version, "it says that it is of version %d", from.Version)
	options := DefaultOptions()
	for _, ip := range from.Reported.HostIPs {
		options.HostIPs = append(options.HostIPs, ip.IP)
	}
	m := assert.Get(Restore(kept.Pod, options, from)).Must(t)
	next := m.Checkpoint()
	next.Clock = from.Clock // the caller's
	again := assert.Get(json.Marshal(next)).Must(t)
	diff := cmp.Diff(facts(t, kept.Checkpoint), facts(t, again), cmp.FilterPath(ofAnEarlierVersion, cmp.Ignore()))
	assert.True(t, diff == "", "what was said, and what became of it (-was +is):\n%s", diff)
	for _, e := range m.Step(Event{At: from.StartTime.Add(time.Hour), Fact: Resumed{}}) {
		if status, published := e.(Publish); published && !equality.Semantic.DeepEqual(status.Status, from.Reported) {
			t.Errorf("the status flips:\n%s", cmp.Diff(from.Reported, status.Status))
		}
	}
}

func facts(t *testing.T, checkpoint []byte) (all map[string]any) {
	assert.Must(t, json.Unmarshal(checkpoint, &all))
	return all
}

// ofAnEarlierVersion says what may differ: the version, and what that version did not
// say.
func ofAnEarlierVersion(p cmp.Path) bool {
	step, isKey := p.Last().(cmp.MapIndex)
	if !isKey {
		return false
	}
	was, _ := step.Values()
	return step.Key().String() == "version" || !was.IsValid()
}

// TestVersionRisesWithTheFields: an older lifepod would ignore a field that it does not
// know. So each new field raises the version, which the older one refuses: it then adopts
// the pod from the runtime and the API.
func TestVersionRisesWithTheFields(t *testing.T) {
	path := fmt.Sprintf("checkpoints/version%d/fields.txt", CheckpointVersion)
	var lines []string
	fieldsOf(reflect.TypeFor[Checkpoint](), "", &lines)
	slices.Sort(lines)
	got := strings.Join(lines, "\n") + "\n"
	if flag.Lookup("rewrite").Value.String() == "true" {
		assert.Must(t, os.WriteFile(path, []byte(got), 0o644))
	}
	if want, err := os.ReadFile(path); err != nil || string(want) != got {
		t.Errorf("%s (%v) is not what a checkpoint has now (-file +now):\n%s\nIf a released lifepod writes that version, raise CheckpointVersion and keep checkpoints of the version before.",
			path, err, cmp.Diff(string(want), got))
	}
}

func fieldsOf(t reflect.Type, path string, lines *[]string) {
	for slices.Contains([]reflect.Kind{reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map}, t.Kind()) {
		t = t.Elem()
	}
	switch {
	case t.Kind() != reflect.Struct && t.Implements(reflect.TypeFor[encoding.TextMarshaler]()):
		*lines = append(*lines, path+" string")
		return
	case !isOurs(t):
		*lines = append(*lines, path+" "+t.String())
		return
	}
	for field := range t.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case field.Anonymous && name == "":
			fieldsOf(field.Type, path, lines)
		case name != "":
			fieldsOf(field.Type, path+"."+name, lines)
		case field.IsExported():
			fieldsOf(field.Type, path+"."+field.Name, lines)
		}
	}
}
