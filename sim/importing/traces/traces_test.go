package traces_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/tinylib/msgp/msgp"
	"sigs.k8s.io/yaml"

	"github.com/lifepod/lifepod/manifest"
	"github.com/lifepod/lifepod/sim"
	"github.com/lifepod/lifepod/sim/choice"
	"github.com/lifepod/lifepod/sim/importing/traces"
	"github.com/lifepod/lifepod/sim/scenario"
	"github.com/lifepod/lifepod/sim/scenario/file"
)

// Each file of testdata is a trace, and what comes of it. Its pod_lifecycles are a list here, because its keys are no strings:
// the kind of an owner, its name, and the lives of its pods by the hash of their template.
func TestImport(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		t.Helper()
		var trace []byte
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			t.Helper()
			switch d.Cmd {
			case "trace":
				trace = encode(t, d.Input)
				return ""
			case "import":
				return imported(t, trace)
			case "documented": // this is the trace of the documentation
				return documented(t, trace, d.Rewrite)
			}
			d.Fatalf(t, "unknown command %s", d.Cmd)
			return ""
		})
	})
}

func documented(t *testing.T, trace []byte, rewrite bool) string {
	t.Helper()
	const name = "../../../docs/sim/nightly.sktrace"
	if rewrite {
		if err := os.WriteFile(name, trace, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	is, err := os.ReadFile(name)
	if err != nil || !bytes.Equal(is, trace) {
		t.Errorf("%s is not this trace: %v", name, err)
	}
	return ""
}

func imported(t *testing.T, trace []byte) string {
	t.Helper()
	r, err := traces.Import("cluster.sktrace", trace)
	if err != nil {
		return "error: " + err.Error() + "\n"
	}
	var text strings.Builder
	for _, n := range r.Notes {
		fmt.Fprintln(&text, n)
	}
	for _, s := range r.Scenarios {
		fmt.Fprintln(&text, s.Pods, "live by", s.File)
	}
	for _, f := range r.Files {
		fmt.Fprintf(&text, "== %s\n%s", f.Name, f.Data)
	}
	liveOnNodes(t, r)
	return text.String()
}

// liveOnNodes holds that simulated nodes take all scenarios, and together.
func liveOnNodes(t *testing.T, r *traces.Result) {
	t.Helper()
	data := map[string][]byte{}
	for _, f := range r.Files {
		data[f.Name] = f.Data
	}
	var all []choice.Named
	for _, s := range r.Scenarios {
		says, err := file.ReadForAny(manifest.Source{Name: s.File, Data: data[s.File]})
		if err != nil {
			t.Fatal(err)
		}
		if err := scenario.Errors(says, sim.CheckPod); err != nil {
			t.Error(err)
		}
		all = append(all, choice.Named{Name: s.Pods, From: s.File, Scenario: says})
	}
	if _, err := choice.Of(all...); err != nil {
		t.Error(err)
	}
}

// encode is a trace as SimKube writes it.
func encode(t *testing.T, text string) []byte {
	t.Helper()
	var trace map[string]any
	if err := yaml.Unmarshal([]byte(text), &trace); err != nil {
		t.Fatal(err)
	}
	b := msgp.AppendMapHeader(nil, uint32(len(trace)))
	for _, key := range slices.Sorted(maps.Keys(trace)) {
		b = msgp.AppendString(b, key)
		owners, is := trace[key].([]any)
		if key != "pod_lifecycles" || !is {
			b = value(t, b, trace[key])
			continue
		}
		b = msgp.AppendMapHeader(b, uint32(len(owners)))
		for _, o := range owners {
			of := o.(map[string]any)
			b = value(t, b, []any{of["kind"], of["name"]})
			lives := of["pods"].(map[string]any)
			b = msgp.AppendMapHeader(b, uint32(len(lives)))
			for _, hash := range slices.Sorted(maps.Keys(lives)) {
				var n uint64
				if err := json.Unmarshal([]byte(hash), &n); err != nil {
					t.Fatal(err)
				}
				b = value(t, msgp.AppendUint64(b, n), lives[hash])
			}
		}
	}
	return b
}

func value(t *testing.T, b []byte, v any) []byte {
	t.Helper()
	switch v := v.(type) {
	case map[string]any:
		b = msgp.AppendMapHeader(b, uint32(len(v)))
		for _, key := range slices.Sorted(maps.Keys(v)) {
			b = value(t, msgp.AppendString(b, key), v[key])
		}
		return b
	case []any:
		b = msgp.AppendArrayHeader(b, uint32(len(v)))
		for _, item := range v {
			b = value(t, b, item)
		}
		return b
	case float64:
		if v == float64(int64(v)) {
			return msgp.AppendInt64(b, int64(v))
		}
	}
	b, err := msgp.AppendIntf(b, v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// empty is the least trace there is.
func empty() []byte {
	b := msgp.AppendMapHeader(nil, 5)
	b = msgp.AppendInt(msgp.AppendString(b, "version"), 2)
	b = msgp.AppendMapHeader(msgp.AppendString(b, "config"), 0)
	b = msgp.AppendArrayHeader(msgp.AppendString(b, "events"), 0)
	b = msgp.AppendMapHeader(msgp.AppendString(b, "index"), 0)
	return msgp.AppendMapHeader(msgp.AppendString(b, "pod_lifecycles"), 0)
}

// Every file that is no trace is one clear error, whatever it promises.
func TestNoTrace(t *testing.T) {
	if _, err := traces.Import("empty", empty()); err != nil {
		t.Fatal(err)
	}
	root := func(key string, rest ...byte) []byte {
		return append(msgp.AppendString(msgp.AppendMapHeader(nil, 1), key), rest...)
	}
	for name, c := range map[string]struct {
		data []byte
		says string
	}{
		"more":        {append(empty(), 0xc0), "there is more in the file than one trace"},
		"no version":  {[]byte{0x80}, "byte 1: no config, events, index, pod_lifecycles, version: want a trace of version 2, as SimKube 2 writes it"},
		"version":     {root("version", 3), "version 3: want version 2, as SimKube 2 writes it"},
		"kind":        {root("version", 0xc3), "want an integer, not bool"},
		"key":         {[]byte{0x81, 0x01}, "want a string, not int"},
		"binary":      {root("index", 0xc4, 1, 0), "want what JSON has, not bin"},
		"deep":        {root("index", bytes.Repeat([]byte{0x91}, 1_000_000)...), "values are nested more than 100 deep"},
		"many":        {root("index", append([]byte{0xdd, 0xff, 0xff, 0xff, 0xff}, make([]byte, 9_000_000)...)...), "the trace has more than 8000000 values"},
		"large":       {make([]byte, traces.MaxBytes+1), "the trace is larger than 128 MiB"},
		"long array":  {root("index", 0xdd, 0xff, 0xff, 0xff, 0xff), "the file is truncated"},
		"long map":    {root("index", 0xdf, 0xff, 0xff, 0xff, 0xff), "the file is truncated"},
		"long string": {root("index", 0xdb, 0xff, 0xff, 0xff, 0xff), "the file is truncated"},
		"never used":  {root("index", 0xc1), "want what JSON has, not <invalid>"},
	} {
		if _, err := traces.Import("x.sktrace", c.data); err == nil || !strings.Contains(err.Error(), c.says) || !strings.HasPrefix(err.Error(), "x.sktrace: ") {
			t.Errorf("%s: want %q, says %v", name, c.says, err)
		}
	}
}

// A trace of which something is missing at its end is never taken for a whole one.
func TestTruncated(t *testing.T) {
	trace, err := os.ReadFile("../../../docs/sim/nightly.sktrace")
	if err != nil {
		t.Fatal(err)
	}
	for n := 1; n < len(trace); n++ {
		if _, err := traces.Import("x", trace[:n]); err == nil || !strings.Contains(err.Error(), "the file is truncated") {
			t.Fatalf("after %d bytes of %d: %v", n, len(trace), err)
		}
	}
}

// Whatever the file, it is imported or refused.
func FuzzImport(f *testing.F) {
	f.Add(empty())
	trace, err := os.ReadFile("../../../docs/sim/nightly.sktrace")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(trace)
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := traces.Import("x", data)
		if err == nil {
			liveOnNodes(t, r)
		}
	})
}
