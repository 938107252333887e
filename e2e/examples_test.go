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

	"github.com/lifepod/lifepod/internal/assert"
)

// TestExamples runs every example; it must print what its comment says.
func TestExamples(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../examples/*.yaml")
	assert.Require(t, err == nil && len(files) != 0, "no examples: %v", err)
	codes := map[string]int{"graceful-shutdown": 130, "restart-rules": 1}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := assert.Get(os.ReadFile(file)).Must(t)
			file := copyOf(t, file, string(text))
			c := shared.start(t, "", "run", file)
			if name == "config-reload" {
				c.await(c.stdout, "hello, and")
				edit(t, file, "text: hello", "text: good morning")
				c.await(c.stdout, "good morning, and")
				edit(t, file, "text: good morning", "text: bye")
			}
			if name == "debug" {
				c.await(c.stderr, "pod Ready")
				c.await(c.stdout, "working")
				shared.lifepod(t, "touch /proc/1/root/work/seen\n", "debug", "stuck", "--image", toolbox, "--target", "app", "--name", "debugger", "-i", "--", "sh")
				c.await(c.stderr, "debugger exited") // app would not wait for that
				shared.lifepod(t, "", "exec", "stuck", "--", "mv", "/work/seen", "/work/go")
			}
			if name == "graceful-shutdown" {
				c.await(c.stderr, "pod Ready")
				c.await(c.stdout, "polite . working\n")
				c.await(c.stdout, "working, too")
				c.signal(syscall.SIGINT)
			}
			got := c.wait()
			assert.Deep(t, "exit code", codes[name], got.code)
			wantOut, wantErr := promised(string(text))
			// Containers that are stopped together end in any order.
			order := func(text string) []string { return slices.Sorted(strings.Lines(normal(text))) }
			diff := cmp.Diff(order(wantOut), order(got.stdout))
			assert.True(t, diff == "", "stdout (-promised +got):\n%s", diff)
			diff = cmp.Diff(order(wantErr), order(got.stderr))
			assert.True(t, diff == "", "stderr (-promised +got):\n%s", diff)
			simulated := shared.lifepod(t, "", "sim", "../examples/"+name+".yaml", "--scenario", "../examples/scenarios/"+name+".yaml")
			if diff := cmp.Diff(inOrder(got.stderr), inOrder(simulated.stderr)); diff != "" || simulated.code != 0 {
				t.Errorf("lifepod sim: exit code %d, the milestones on real containers (-) and simulated (+):\n%s", simulated.code, diff)
			}
			recorded := shared.lifepod(t, "", "sim", "record", podIn(t, string(text)))
			again := shared.lifepod(t, recorded.stdout, "sim", "../examples/"+name+".yaml", "--scenario", "-")
			if diff := cmp.Diff(inOrder(got.stderr), inOrder(again.stderr)); diff != "" || again.code != 0 {
				t.Errorf("lifepod sim: exit code %d, the milestones on real containers (-) and of what was recorded of them (+):\n%s\n%s%s", again.code, diff, recorded.stdout, recorded.stderr)
			}
		})
	}
}

// inOrder are the milestones of a life; containers that are stopped together end in any order.
func inOrder(story string) (lines []string) {
	stopped := func(line string) bool {
		return strings.Contains(line, " exited ") && strings.Contains(line, "(stopped")
	}
	begin := 0 // of the exits before the next line that is none
	for line := range strings.Lines(normal(story)) {
		if !stopped(line) {
			slices.Sort(lines[begin:])
			begin = len(lines) + 1
		}
		lines = append(lines, line)
	}
	slices.Sort(lines[min(begin, len(lines)):])
	return lines
}

var podName = regexp.MustCompile(`(?m)^kind: Pod\nmetadata:\n  name: (\S+)$`)

func podIn(t *testing.T, example string) string {
	t.Helper()
	name := podName.FindStringSubmatch(example)
	assert.Require(t, name != nil, "the example has no pod")
	return name[1]
}

// copyOf is a copy of the example that a test may edit.
func copyOf(t *testing.T, file, text string) string {
	t.Helper()
	copied := filepath.Join(t.TempDir(), filepath.Base(file))
	assert.Must(t, os.WriteFile(copied, []byte(text), 0o600))
	return copied
}

// edit replaces a text in a file, by a new file as editors do.
func edit(t *testing.T, file, from, to string) {
	t.Helper()
	text, err := os.ReadFile(file)
	assert.Require(t, err == nil && strings.Contains(string(text), from), "nothing to edit: %v", err)
	assert.Must(t, os.WriteFile(file+".new", []byte(strings.Replace(string(text), from, to, 1)), 0o600))
	assert.Must(t, os.Rename(file+".new", file))
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
