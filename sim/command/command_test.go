package command

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lifepod/lifepod/internal/assert"
)

func simulate(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, errors bytes.Buffer
	c := New(&code)
	c.SilenceUsage, c.SilenceErrors = true, true
	c.SetOut(&out)
	c.SetErr(&errors)
	c.SetArgs(args)
	if err := c.ExecuteContext(t.Context()); err != nil {
		code = ExitError
		errors.WriteString("lifepod: " + err.Error() + "\n")
	}
	return out.String(), errors.String(), code
}

const examples = "../../examples/"

var (
	shown   = regexp.MustCompile(`(?m)^#   \+([0-9.]+)s (.*)$`)
	printed = regexp.MustCompile(`(?m)^\+([0-9.]+)s (.*)$`)
	address = regexp.MustCompile(`address \S+`)
)

// milestone is a line of a life.
type milestone struct{ at, text string }

func milestones(text string, line *regexp.Regexp) (list []milestone) {
	for _, m := range line.FindAllStringSubmatch(text, -1) {
		list = append(list, milestone{m[1], address.ReplaceAllString(m[2], "address A")})
	}
	return list
}

// inOrder are the texts of a life's milestones, in the order of another one where that had
// several in the same millisecond: their order is chance there.
func inOrder(got, of []milestone) (texts []string) {
	for from := 0; from < len(got); {
		to := from + 1
		for to < min(len(of), len(got)) && of[to].at == of[from].at {
			to++
		}
		group := got[from:to]
		rank := func(m milestone) int {
			return slices.IndexFunc(of[min(from, len(of)):min(to, len(of))], func(o milestone) bool { return o.text == m.text })
		}
		slices.SortStableFunc(group, func(a, b milestone) int { return rank(a) - rank(b) })
		for _, m := range group {
			texts = append(texts, m.text)
		}
		from = to
	}
	return texts
}

// Every example prints, simulated, what it printed on real containers, which stands on top of
// it: the same milestones in the same order.
func TestExamplesLiveAsOnRealContainers(t *testing.T) {
	files, err := filepath.Glob(examples + "*.yaml")
	assert.Require(t, err == nil && len(files) >= 12, "%d examples, %v", len(files), err)
	for _, file := range files {
		name := filepath.Base(file)
		t.Run(name, func(t *testing.T) {
			text := assert.Get(os.ReadFile(file)).Must(t)
			real := milestones(string(text), shown)
			want := inOrder(slices.Clone(real), real)
			assert.Require(t, len(want) >= 5, "%s shows %d milestones", file, len(want))
			_, stderr, code := simulate(t, file, "--scenario", examples+"scenarios/"+name)
			diff := cmp.Diff(want, inOrder(milestones(stderr, printed), real))
			assert.True(t, diff == "" && code == 0, "exit code %d; on real containers (-), simulated (+):\n%s", code, diff)
		})
	}
}

// The same seed gives the same output, byte for byte, and another one another.
func TestSameSeedSameOutput(t *testing.T) {
	scenario := write(t, `
apiVersion: lifepod.dev/v1alpha1
kind: Scenario
containers:
  worker:
    runs:
    - run: exp(30s)
      exit: 1
events:
- {at: 10m, agentCrash: {}}
- {at: 20m, reboot: {}}
`)
	run := func(seed, output string) string {
		stdout, stderr, _ := simulate(t, examples+"crashloop.yaml", "--scenario", scenario, "--seed", seed, "-o", output)
		return stdout + stderr
	}
	for _, output := range []string{"json", "html", "timeline", "svg"} {
		first := run("7", output)
		assert.True(t, first == run("7", output), "-o %s: seed 7 gives another output the second time", output)
		assert.True(t, first != run("8", output), "-o %s: seed 8 gives what seed 7 gives", output)
	}
}

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "scenario.yaml")
	assert.Must(t, os.WriteFile(path, []byte(strings.TrimPrefix(text, "\n")), 0o600))
	return path
}

func TestAssertionsDecideTheExitCode(t *testing.T) {
	args := []string{examples + "crashloop.yaml", "--scenario", examples + "scenarios/crashloop.yaml"}
	if _, stderr, code := simulate(t, append(args, "--assert", "Ready within 1s", "--assert", "never two of worker")...); code != 0 {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	_, stderr, code := simulate(t, append(args, "--seed", "4", "--assert", "restarts(worker) <= 1")...)
	want := `assertion "restarts(worker) <= 1" fails at +10.267s, seed 4: restarts are 2`
	assert.True(t, code == ExitAsserted && strings.Contains(stderr, want), "exit code %d, want 1 and %q:\n%s", code, want, stderr)
	_, stderr, code = simulate(t, append(args, "--assert", "restarts(wroker) <= 1")...)
	assert.True(t, code == ExitError && strings.Contains(stderr, "no container wroker"), "exit code %d: %s", code, stderr)
}

// What containers write can't make a terminal obey.
func TestOutputIsHarmless(t *testing.T) {
	scenario := write(t, `
apiVersion: lifepod.dev/v1alpha1
kind: Scenario
containers:
  worker:
    runs:
    - {run: 10s, output: [{text: "\x1b[2Jgone\nand\r more"}]}
`)
	stdout, stderr, code := simulate(t, examples+"crashloop.yaml", "--scenario", scenario)
	want := "^[[2Jgone\nand\\r more\n"
	assert.True(t, stdout == want && code == 0, "exit code %d, %q, want %q\n%s", code, stdout, want, stderr)
}

// What a change changes is shown, and decides the exit code, as with diff.
func TestDiff(t *testing.T) {
	text := assert.Get(os.ReadFile(examples + "crashloop.yaml")).Must(t)
	never := write(t, strings.Replace(string(text), "restartPolicy: OnFailure", "restartPolicy: Never", 1))
	scenario := examples + "scenarios/crashloop.yaml"
	stdout, stderr, code := simulate(t, "diff", examples+"crashloop.yaml", never, "--scenario", scenario)
	assert.True(t, code == ExitDiffer && stderr == "", "exit code %d: %s", code, stderr)
	for _, want := range []string{
		"  +0.135s pod Ready\n- +0.175s worker exited 1 → restart now (restartPolicy OnFailure, 1st failure)\n",
		"+ +0.175s worker exited 1 → not restarted (restartPolicy Never)\n",
		"Succeeded after 10.458s → Failed after 0.288s", "restarts of worker   2 → 0\n",
	} {
		assert.True(t, strings.Contains(stdout, want), "%q is missing:\n%s", want, stdout)
	}
	stdout, stderr, code = simulate(t, "diff", never, never)
	assert.True(t, code == 0 && strings.Contains(stdout, "live alike"), "exit code %d of the same manifest twice: %s%s", code, stdout, stderr)
	if _, stderr, code := simulate(t, "diff", never, examples+"hello.yaml", "--scenario", scenario); code != ExitError || !strings.Contains(stderr, "hello.yaml: scenario: ") {
		t.Errorf("exit code %d of a scenario for the first pod only: %s", code, stderr)
	}
	if _, stderr, code := simulate(t, "diff", "-", never, "--scenario", "-"); code != ExitError || !strings.Contains(stderr, "standard input can be read once only") {
		t.Errorf("exit code %d of standard input twice: %s", code, stderr)
	}
}

// Standard input can't be two files.
func TestStandardInputIsReadOnce(t *testing.T) {
	for _, args := range [][]string{{"-", "-"}, {"-", "--scenario", "-"}, {examples + "hello.yaml", "-", "--scenario", "-"}} {
		_, stderr, code := simulate(t, args...)
		assert.True(t, code == ExitError && strings.Contains(stderr, "standard input can be read once only"), "%q: exit code %d: %s", args, code, stderr)
	}
}

// What is wrong in a scenario is said with its line and what is meant.
func TestScenarioErrorsNameTheLine(t *testing.T) {
	for scenario, want := range map[string]string{
		"containers:\n  wroker:\n    runs: [{run: 1s}]\n":                 "scenario.yaml:4: containers[wroker]: the pod has no container wroker; did you mean worker?",
		"containers:\n  worker:\n    runs:\n    - exti: 1\n":              "scenario.yaml:6: containers[worker].runs[0].exti: unknown field; did you mean exit?",
		"containers:\n  worker:\n    runs:\n    - run: exp(x)\n":          `scenario.yaml:6: containers[worker].runs[0].run: "exp(x)" cannot be read; should be a duration`,
		"containers:\n  worker:\n    runs:\n    - {exit: 1, oom: true}\n": "scenario.yaml:6: containers[worker].runs[0]: exit, signal and oom exclude each other",
		"events:\n- at: 1s\n":                                                  "scenario.yaml:4: events[0]: says 0 things that happen",
		"events:\n- at: 1s\n  resize: {container: worker}\n":                   "scenario.yaml:5: events[0].resize: asks for nothing; should say requests, limits or both",
		"events:\n- at: 1s\n  resize: {container: work, limits: {cpu: 1}}\n":   "scenario.yaml:5: events[0].resize.container: the pod has no container work; did you mean worker?",
		"events:\n- at: 1s\n  resize: {container: worker, limits: {cpu: 1}}\n": "scenario.yaml:5: events[0].resize: ",
		"containers:\n  worker:\n    runs:\n    - usage: [{cpu: 1}]\n":         "scenario.yaml:6: containers[worker].runs[0].usage: nobody asks what a pod of this simulation uses; it is for pods of lifepod sim nodes",
		"calls:\n- {call: CreateContaner, fail: broken}\n":                     "did you mean CreateContainer?",
		"containers:\n  worker:\n    runs:\n    - signal: SIGSEV\n":            "did you mean SIGSEGV?",
	} {
		path := write(t, "apiVersion: lifepod.dev/v1alpha1\nkind: Scenario\n"+scenario)
		_, stderr, code := simulate(t, examples+"crashloop.yaml", "--scenario", path)
		assert.True(t, code == ExitError && strings.Contains(stderr, want), "%s\ngot  %d %s\nwant %s", scenario, code, stderr, want)
	}
}
