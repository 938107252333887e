package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestExamples runs every example; it must print what its comment says.
func TestExamples(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../examples/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no examples: %v", err)
	}
	codes := map[string]int{"graceful-shutdown": 130, "restart-rules": 1}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			c := shared.start(t, "", "run", file)
			if name == "graceful-shutdown" {
				c.await(c.stderr, "pod Ready")
				c.await(c.stdout, "polite . working\n")
				c.await(c.stdout, "working, too")
				c.signal(syscall.SIGINT)
			}
			got := c.wait()
			if got.code != codes[name] {
				t.Errorf("exit code %d, want %d", got.code, codes[name])
			}
			wantOut, wantErr := promised(string(text))
			// Containers that are stopped together end in any order.
			order := func(text string) []string { return slices.Sorted(strings.Lines(normal(text))) }
			if diff := cmp.Diff(order(wantOut), order(got.stdout)); diff != "" {
				t.Errorf("stdout (-promised +got):\n%s", diff)
			}
			if diff := cmp.Diff(order(wantErr), order(got.stderr)); diff != "" {
				t.Errorf("stderr (-promised +got):\n%s", diff)
			}
		})
	}
}

var storyLine = regexp.MustCompile(`^\+\d+\.\d+s `)

// promised is the output that the comment of an example shows: what is
// indented, but for the command.
func promised(example string) (stdout, stderr string) {
	for line := range strings.Lines(example) {
		line, shown := strings.CutPrefix(line, "#   ")
		switch {
		case !shown || strings.HasPrefix(line, "lifepod run"):
		case storyLine.MatchString(line):
			stderr += line
		default:
			stdout += line
		}
	}
	return stdout, stderr
}
