package config

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	kubeletconfig "k8s.io/kubelet/config/v1beta1"

	"github.com/lifepod/lifepod/internal/assert"
)

// TestEveryFieldIsTreated fails on a field of the API that the table doesn't have,
// and on one of the table that the API doesn't have.
func TestEveryFieldIsTreated(t *testing.T) {
	api := leaves(reflect.ValueOf(&kubeletconfig.KubeletConfiguration{}).Elem())
	want := slices.Sorted(maps.Keys(api))
	got := slices.Sorted(maps.Keys(fields))
	diff := cmp.Diff(want, got)
	assert.True(t, diff == "", "fields (-API +table):\n%s", diff)
	assert.True(t, len(want) >= 120, "only %d fields found in the API", len(want))
	for path, treatment := range fields {
		assert.True(t, treatment.by != "", "%s: no reason", path)
	}
}

// TestHonouredFieldsAreRead fails on a field that the table calls honoured and that no
// other package reads, and on one that is read although the table says that it has no
// effect. Names such as Port prove little; most are unmistakable.
func TestHonouredFieldsAreRead(t *testing.T) {
	read, readOfKubelet := map[string]bool{}, map[string]bool{}
	for _, dir := range []string{"..", "../../worker", "../../roster/pressure", "../../host", "../../cmd"} {
		assert.Must(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") || filepath.Dir(path) == "../config" {
				return err
			}
			source, err := os.ReadFile(path)
			for _, selector := range selectors.FindAllStringSubmatch(string(source), -1) {
				read[selector[1]] = true
			}
			for _, selector := range kubeletSelectors.FindAllStringSubmatch(string(source), -1) {
				readOfKubelet[selector[1]] = true
			}
			return err
		}))
	}
	for path, treatment := range fields {
		name := goName(t, path)
		assert.True(t, treatment.kind != isHonoured || treatment.by == "node/config" || read[name], "%s: nobody reads %s", path, name)
		if name := goName(t, path); treatment.kind == isHarmless && readOfKubelet[name] {
			t.Errorf("%s: somebody reads %s, but it is said to have no effect: %s", path, name, treatment.by)
		}
	}
}

var (
	selectors        = regexp.MustCompile(`\.([A-Z]\w+)`)
	kubeletSelectors = regexp.MustCompile(`\b(?:Kubelet|k)\.([A-Z]\w+)`)
)

// goName is the name of a field in Go.
func goName(t *testing.T, path string) string {
	t.Helper()
	in, name := reflect.TypeFor[kubeletconfig.KubeletConfiguration](), ""
	for step := range strings.SplitSeq(path, ".") {
		if in.Kind() == reflect.Pointer {
			in = in.Elem()
		}
		for field := range in.Fields() {
			if tag, _, _ := strings.Cut(field.Tag.Get("json"), ","); tag == step {
				name, in = field.Name, field.Type
				break
			}
		}
	}
	return name
}

func TestWarning(t *testing.T) {
	const start = "not supported, without effect: "
	for name, test := range map[string]struct{ content, want string }{
		"nothing set":                 {"", ""},
		"set to the default":          {"imageGCHighThresholdPercent: 85\nshutdownGracePeriod: 0s", ""},
		"without meaning here":        {"syncFrequency: 5s\nhairpinMode: none\nkubeAPIQPS: 5", ""},
		"no swap in other words":      {"memorySwap: {swapBehavior: NoSwap}\nenforceNodeAllocatable: [none]", ""},
		"gates as lifepod is":         {"featureGates: {EventedPLEG: true, MemoryQoS: true, AllAlpha: false, JobManagedBy: true}", ""},
		"gates against lifepod":       {"featureGates: {EventedPLEG: false, ImageVolumeWithDigest: true, AllBeta: false}", start + "featureGates[AllBeta] (every feature is as lifepod has it); featureGates[EventedPLEG] (lifepod always behaves as with true); featureGates[ImageVolumeWithDigest] (lifepod always behaves as with false)"},
		"gates of other components":   {"featureGates: {SchedulerAsyncPreemption: false}", ""},
		"the default spelled outside": {"evictionHard: {memory.available: 100Mi, nodefs.available: 10%, nodefs.inodesFree: 5%, imagefs.available: 15%, imagefs.inodesFree: 5%}", ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := write(t, map[string]string{"c": header + test.content})
			c := assert.Get(Load(filepath.Join(dir, "c"), "")).Must(t)
			assert.Deep(t, "", test.want, c.Warning())
		})
	}
}
