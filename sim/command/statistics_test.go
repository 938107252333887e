package command

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/sim"
)

// An assertion on the downtime of a pod that never is Ready fails: it is down all the time.
func TestDowntimeOfAPodThatIsNeverReady(t *testing.T) {
	pod := write(t, "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {containers: [{name: main, image: example.com/web:1, readinessProbe: {httpGet: {port: 80}}}]}\n")
	scenario := write(t, "apiVersion: lifepod.dev/v1alpha1\nkind: Scenario\ncontainers: {main: {runs: [{ready: forever}]}}\n")
	args := []string{pod, "--scenario", scenario, "--assert", "downtime <= 1s"}
	want := `lifepod: assertion "downtime <= 1s" fails at +3600.000s, seed 1: the pod never was Ready`
	_, stderr, code := simulate(t, args...)
	assert.True(t, code == ExitAsserted && strings.Contains(stderr, want), "exit code %d, want 1 and %q: %s", code, want, stderr)
	_, stderr, code = simulate(t, append(args, "--runs", "4")...)
	assert.True(t, code == ExitAsserted && strings.Contains(stderr, want), "exit code %d, want 1 and %q: %s", code, want, stderr)
}

// Assertions that fail are in -o json, of several lives all of them with their seeds. As text the first are said, and how to learn
// the others.
func TestFailedAssertionsInJSON(t *testing.T) {
	args := []string{examples + "crashloop.yaml", "--scenario", examples + "scenarios/crashloop.yaml", "--assert", "restarts(worker) <= 1", "--assert", "ends Failed"}
	stdout, stderr, code := simulate(t, append(args, "-o", "json", "--seed", "7")...)
	want := []string{
		`{"time":"2026-01-01T00:00:10.267Z","elapsedSeconds":10.267,"type":"assertion","assertion":"restarts(worker) <= 1","atSeconds":10.267,"seed":7,"why":"restarts are 2"}`,
		`{"time":"2026-01-01T00:00:10.458Z","elapsedSeconds":10.458,"type":"assertion","assertion":"ends Failed","atSeconds":10.458,"seed":7,"why":"the pod is Succeeded"}`,
	}
	lines := strings.Split(strings.TrimSpace(stdout), "\n")
	diff := cmp.Diff(want, lines[max(0, len(lines)-2):])
	assert.True(t, diff == "" && code == ExitAsserted, "exit code %d, (-want +got)\n%s%s", code, diff, stderr)
	stdout, stderr, code = simulate(t, append(args, "-o", "json", "--runs", "4", "--seed", "7")...)
	var s sim.Statistics
	err := json.Unmarshal([]byte(stdout), &s)
	assert.Require(t, err == nil && code == ExitAsserted, "exit code %d, %v: %s%s", code, err, stdout, stderr)
	var seeds []uint64
	for _, b := range s.Breaches {
		seeds = append(seeds, b.Seed)
	}
	assert.Deep(t, "seeds", []uint64{7, 7, 8, 8, 9, 9, 10, 10}, seeds)
	first := (sim.Breach{Assertion: "restarts(worker) <= 1", At: 10.267, Seed: 7, Why: "restarts are 2"})
	assert.True(t, s.Breaches[0] == first, "%+v", s.Breaches[0])
	assert.True(t, s.RestartCount != nil && len(s.RestartCount.Histogram) == 1 && s.RestartCount.Histogram[0].Lives == 4,
		"restarts are %+v", s.RestartCount)
	_, stderr, _ = simulate(t, append(args, "--runs", "4")...)
	end := "lifepod: 3 more failures: -o json lists all of them with their seeds\nlifepod: assertions fail in 4 of 4 lives; --seed N shows one of them\n"
	assert.True(t, strings.HasSuffix(stderr, end) && strings.Count(stderr, "lifepod: assertion \"") == 5, "want five failures and %s\ngot %s", end, stderr)
}

// Assertions that can't be read are errors that say where they are.
func TestAssertionsThatCantBeRead(t *testing.T) {
	scenario := write(t, "apiVersion: lifepod.dev/v1alpha1\nkind: Scenario\nassert:\n- never Failed\n- Ready in 3s\n- restarts(wroker) <= 1\n")
	_, stderr, code := simulate(t, examples+"crashloop.yaml", "--scenario", scenario)
	for _, want := range []string{
		`scenario.yaml:5: assert[1]: "Ready in 3s" is no assertion: want one such as Ready within 30s, `,
		`scenario.yaml:6: assert[2]: "restarts(wroker) <= 1": the pod has no container wroker: there are worker`,
	} {
		assert.True(t, code == ExitError && strings.Contains(stderr, want), "exit code %d, want %s\ngot %s", code, want, stderr)
	}
	_, stderr, _ = simulate(t, examples+"crashloop.yaml", "--assert", "Ready in 3s")
	assert.True(t, strings.HasPrefix(stderr, `lifepod: --assert: "Ready in 3s" is no assertion`), "%s", stderr)
}

// Which assertions hold is among what differs between two manifests.
func TestDiffOfAssertions(t *testing.T) {
	stdout, _, code := simulate(t, "diff", examples+"crashloop.yaml", "../../docs/sim/never.yaml", "--scenario", examples+"scenarios/crashloop.yaml")
	if want := "\"ends Succeeded\"     holds → fails at +0.288s: the pod is Failed\n"; !strings.HasSuffix(stdout, want) || code != ExitDiffer || strings.Contains(stdout, "restarts(worker)") {
		t.Errorf("exit code %d, want %s\ngot %s", code, want, stdout)
	}
}

// Each life has a seed of its own, and there is none beyond the greatest.
func TestSeedsHaveAnEnd(t *testing.T) {
	args := []string{examples + "hello.yaml", "--seed", "18446744073709551614", "--runs"}
	if stdout, stderr, code := simulate(t, append(args, "2")...); code != 0 || !strings.Contains(stdout, "seeds 18446744073709551614 to 18446744073709551615\n") {
		t.Errorf("exit code %d: %s%s", code, stdout, stderr)
	}
	want := "--seed 18446744073709551614: want 18446744073709551613 or less, for --runs 3"
	_, stderr, code := simulate(t, append(args, "3")...)
	assert.True(t, code == ExitError && strings.Contains(stderr, want), "exit code %d, want %s: %s", code, want, stderr)
}

// A second Pod is refused in the name of the command that was called.
func TestASecondPod(t *testing.T) {
	_, stderr, code := simulate(t, examples+"hello.yaml", examples+"crashloop.yaml")
	if want := "this is a second Pod, the first is in " + examples + "hello.yaml:"; code != ExitError || !strings.Contains(stderr, want) || !strings.Contains(stderr, "; sim takes one, give each Pod") {
		t.Errorf("exit code %d, want %s: %s", code, want, stderr)
	}
}
