package manifest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"sigs.k8s.io/yaml"

	"github.com/lifepod/lifepod/internal/assert"
)

// now is the time of creation in all tests.
var now = time.Date(2026, 5, 1, 12, 30, 0, 0, time.UTC)

// TestRead runs the transcripts in testdata/read. Verbs:
//
//	file NAME [from=PATH]     adds a file, its content below or in testdata/PATH
//	read [name=POD]           reads the files added since the last read, or what is below as pod.yaml;
//	                          prints the warnings, then the error or what was read
//	pod [name=POD]            the same, but prints the whole Pod, without its UID
//	data                      the same, but prints the ConfigMaps and Secrets
//	all [name=POD]            reads them as lifepod run does: any number of Pods
//
// In what is below, <TAB> stands for a tab, <NBSP> for a no-break space.
func TestRead(t *testing.T) {
	datadriven.Walk(t, "testdata/read", func(t *testing.T, path string) {
		var sources []Source
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			content := []byte(strings.NewReplacer("<TAB>", "\t", "<NBSP>", "\u00a0").Replace(d.Input))
			if d.Cmd == "file" {
				if from := arg(d, "from"); from != "" {
					content = example(t, from)
				}
				sources = append(sources, Source{Name: d.CmdArgs[0].Key, Data: content})
				return ""
			}
			if d.Input != "" {
				sources = append(sources, Source{Name: "pod.yaml", Data: content})
			}
			defer func() { sources = nil }()
			if d.Cmd == "all" {
				return outcomeOfAll(t, sources, Options{Name: arg(d, "name"), Now: now})
			}
			set, err := Read(sources, Options{Name: arg(d, "name"), Now: now})
			return outcome(t, d.Cmd, set, err)
		})
	})
}

func arg(d *datadriven.TestData, key string) string {
	for _, a := range d.CmdArgs {
		if a.Key == key && len(a.Vals) > 0 {
			return a.Vals[0]
		}
	}
	return ""
}

func example(t testing.TB, name string) []byte {
	t.Helper()
	return assert.Get(os.ReadFile(filepath.Join("testdata", name))).Must(t)
}

func outcome(t *testing.T, verb string, set *Set, err error) string {
	if err != nil {
		assert.True(t, set == nil, "Read gave a Set and the error %v", err)
		return "error: " + err.Error()
	}
	var out strings.Builder
	for _, w := range set.Warnings {
		fmt.Fprintln(&out, "warning:", w)
	}
	switch verb {
	case "pod":
		set.Pod.UID = ""
		out.WriteString(asYAML(t, set.Pod))
	case "data":
		for _, c := range set.ConfigMaps {
			c.UID = ""
			out.WriteString(asYAML(t, c))
		}
		for _, s := range set.Secrets {
			s.UID = ""
			out.WriteString(asYAML(t, s))
		}
	default:
		out.WriteString(inShort(set))
	}
	return out.String()
}

func outcomeOfAll(t *testing.T, sources []Source, o Options) string {
	group, err := ReadAll(sources, o)
	if err != nil {
		assert.True(t, group == nil, "ReadAll gave a Group and the error %v", err)
		return "error: " + err.Error()
	}
	var out strings.Builder
	for _, w := range group.Warnings {
		fmt.Fprintln(&out, "warning:", w)
	}
	for _, w := range group.Workloads {
		fmt.Fprintf(&out, "%s %s/%s: %d\n", w.Kind, w.Namespace, w.Name, w.Pods)
	}
	for _, j := range group.Jobs {
		next := j.Next(3)
		fmt.Fprintf(&out, "%s %s/%s: %s\n", j.Kind, j.Namespace, j.Name, strings.Replace(inShort(next), next.Pod.Name, next.Pod.GenerateName+"…", 1))
	}
	for _, set := range group.Sets {
		text := inShort(set)
		if base := set.Pod.GenerateName; base != "" { // the rest is random
			text = strings.Replace(text, set.Pod.Name, base+"…", 1)
		}
		if set.After != "" {
			text += ", after " + set.After
		}
		fmt.Fprintln(&out, text)
	}
	return out.String()
}

func inShort(set *Set) string {
	var out strings.Builder
	fmt.Fprintf(&out, "Pod %s/%s", set.Pod.Namespace, set.Pod.Name)
	for _, c := range set.ConfigMaps {
		fmt.Fprintf(&out, ", ConfigMap %s", c.Name)
	}
	for _, s := range set.Secrets {
		fmt.Fprintf(&out, ", Secret %s", s.Name)
	}
	for _, c := range set.Claims {
		fmt.Fprintf(&out, ", PersistentVolumeClaim %s", c.Name)
	}
	return out.String()
}

func asYAML(t *testing.T, object any) string {
	t.Helper()
	return string(assert.Get(yaml.Marshal(object)).Must(t))
}
