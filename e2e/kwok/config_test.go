package kwok

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// The configuration has KWOK's options and each of its stages as a document of its own.
func TestConfiguration(t *testing.T) {
	module := t.TempDir()
	for _, stage := range stages {
		file := filepath.Join(module, stage)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte("kind: Stage\nmetadata:\n  name: "+filepath.Base(stage)+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	text, err := configuration(module, 7)
	if err != nil {
		t.Fatal(err)
	}
	documents := strings.Split(text, "---\n")
	if len(documents) != 1+len(stages) {
		t.Fatalf("%d documents, want %d:\n%s", len(documents), 1+len(stages), text)
	}
	for i, document := range documents {
		var has struct {
			Kind    string
			Options struct{ PodPlayStageParallelism int }
		}
		if err := yaml.UnmarshalStrict([]byte(document), &struct {
			APIVersion, Kind  string
			Metadata, Options map[string]any
		}{}); err != nil {
			t.Error(err)
		}
		if err := yaml.Unmarshal([]byte(document), &has); err != nil {
			t.Fatal(err)
		}
		switch {
		case i == 0 && (has.Kind != "KwokConfiguration" || has.Options.PodPlayStageParallelism != 7):
			t.Errorf("the options are %+v", has)
		case i > 0 && has.Kind != "Stage":
			t.Errorf("document %d is a %s", i, has.Kind)
		}
	}
	if _, err := configuration(t.TempDir(), 7); err == nil {
		t.Error("no error where there are no stages")
	}
}
