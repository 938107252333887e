package importing_test

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/lifepod/lifepod/sim"
	"github.com/lifepod/lifepod/sim/choice"
	"github.com/lifepod/lifepod/sim/command"
	"github.com/lifepod/lifepod/sim/scenario"
)

// Each file of testdata is Stages and a pod, the scenario that comes of them with what is said to be missing, and
// the life of the pod with it.
func TestImport(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		t.Helper()
		folder := t.TempDir()
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			t.Helper()
			t.Chdir(folder)
			switch d.Cmd {
			case "pod", "stages":
				if err := os.WriteFile(d.Cmd+".yaml", []byte(d.Input), 0o600); err != nil {
					t.Fatal(err)
				}
				return ""
			case "import":
				return imported(t, d)
			case "sim":
				return lived(t, d)
			}
			d.Fatalf(t, "unknown command %s", d.Cmd)
			return ""
		})
	})
}

func imported(t *testing.T, d *datadriven.TestData) string {
	t.Helper()
	args := []string{"import", "--pod", "pod.yaml", "stages.yaml", "-o", "scenario.yaml"}
	for _, a := range d.CmdArgs {
		for _, value := range a.Vals {
			args = append(args, "--"+a.Key, value)
		}
	}
	_, stderr, code := simulate(t, args...)
	if code != 0 {
		return fmt.Sprintf("%sexit code %d\n", stderr, code)
	}
	text, err := os.ReadFile("scenario.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(stderr) {
		if !strings.Contains(string(text), "#   "+line) {
			t.Errorf("the scenario does not say %q", line)
		}
	}
	liveOnNodes(t, stderr)
	if _, refused, code := simulate(t, "pod.yaml", "--scenario", "scenario.yaml", "--for", "1ms"); code != 0 {
		t.Errorf("exit code %d of a life with the scenario: %s", code, refused)
	}
	return stderr + withoutNotes(string(text))
}

// liveOnNodes holds that simulated nodes take the scenario, but for what is said that they refuse.
func liveOnNodes(t *testing.T, said string) {
	t.Helper()
	read, err := choice.Read([]string{"default/web-*=scenario.yaml"})
	if err != nil {
		t.Fatal(err)
	}
	refused := scenario.Errors(read.All()[0].Scenario, sim.CheckPod)
	if (refused != nil) != strings.Contains(said, "lifepod sim nodes refuses") {
		t.Errorf("simulated nodes say %v; said is\n%s", refused, said)
	}
}

// withoutNotes is a scenario without the comments that stderr has as well.
func withoutNotes(text string) string {
	before, after, _ := strings.Cut(text, "# Not in this scenario, or otherwise:\n")
	for strings.HasPrefix(after, "#") {
		_, after, _ = strings.Cut(after, "\n")
	}
	return before + after
}

func lived(t *testing.T, d *datadriven.TestData) string {
	t.Helper()
	args := []string{"pod.yaml", "--scenario", "scenario.yaml"}
	for _, a := range d.CmdArgs {
		for _, value := range a.Vals {
			args = append(args, "--"+a.Key, value)
		}
	}
	stdout, stderr, code := simulate(t, args...)
	if code != 0 {
		t.Errorf("exit code %d", code)
	}
	return stderr + stdout
}

// simulate runs the command line of lifepod sim.
func simulate(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, errors bytes.Buffer
	c := command.New(&code)
	c.SilenceUsage, c.SilenceErrors = true, true
	c.SetOut(&out)
	c.SetErr(&errors)
	c.SetArgs(args)
	if err := c.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	return out.String(), errors.String(), code
}
