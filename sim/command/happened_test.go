package command

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/lifepod/lifepod/internal/assert"
)

func scenarioOf(t *testing.T, says string) string {
	t.Helper()
	return write(t, "apiVersion: lifepod.dev/v1alpha1\nkind: Scenario\n"+says)
}

// webPod is a file with a pod that runs for ever.
func webPod(t *testing.T) string {
	t.Helper()
	return write(t, "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {containers: [{name: main, image: 'nginx:1'}]}\n")
}

// Whatever the scenario has happen is told when it happens.
func TestWhatHappensIsPrinted(t *testing.T) {
	const away = "{at: 5s, agentCrash: {for: 1m}}, {at: 10s, "
	for says, want := range map[string][]string{
		"{at: 5s, reboot: {for: 40s}}":              {"+5.000s node is rebooted → back in 40s (the scenario)", "+45.000s node has started again (the scenario)"},
		"{at: 5s, reboot: {}}":                      {"+5.000s node is rebooted → back in 30s (the scenario)", "+35.000s node has started again (the scenario)"},
		"{at: 5s, runtimeCrash: {}}":                {"+5.000s runtime crashes → back in 5s (the scenario)", "+10.000s runtime is back (the scenario)"},
		"{at: 5s, agentCrash: {}}":                  {"+5.000s agent crashes → back in 1s (the scenario)"},
		away + "agentCrash: {}}":                    {"+5.000s agent crashes → back in 1m0s (the scenario)", "+10.000s agent is away already → back in 55s (the scenario)"},
		"{at: 5s, setClock: {by: 1h}}":              {"+5.000s clock is set forward by 1h0m0s (the scenario)"},
		"{at: 5s, setClock: {by: -30s}}":            {"+5.000s clock is set back by 30s (the scenario)"},
		"{at: 5s, loseEvents: {}}":                  {"+5.000s runtime events are lost for 5s (the scenario)"},
		"{at: 5s, doubleEvents: {for: 1m}}":         {"+5.000s runtime events come twice for 1m0s (the scenario)"},
		"{at: 5s, delayEvents: {for: 1m, by: 1s}}":  {"+5.000s runtime events come late for 1m0s (the scenario)"},
		"{at: 5s, sandboxExit: {}}":                 {"+5.000s pod sandbox exits (the scenario)"},
		"{at: 10ms, sandboxExit: {}}":               {"+0.010s pod sandbox exits → nothing happens: none is ready (the scenario)"},
		away + "delete: {because: enough}}":         {"+10.000s pod stop requested → the agent learns of it when it is back (enough)"},
		away + "addContainer: {name: a, image: a}}": {"+10.000s pod ephemeral container a added → the agent learns of it when it is back (the scenario)"},
	} {
		_, stderr, code := simulate(t, webPod(t), "--scenario", scenarioOf(t, "events: ["+says+"]\n"))
		for _, line := range want {
			assert.True(t, strings.Contains(stderr, line+"\n") && code == 0, "%s: exit code %d, want the line %q:\n%s", says, code, line, stderr)
		}
		stdout, _, _ := simulate(t, webPod(t), "-o", "json", "--scenario", scenarioOf(t, "events: ["+says+"]\n"))
		got := strings.Count(stdout, `"type":"scenario"`)
		assert.True(t, got >= len(want), "%s: %d lines of JSON of what the scenario has happen, want %d:\n%s", says, got, len(want), stdout)
	}
}

// What is printed is the time that has passed, however the wall clock is set; the times of -o json are those of that clock.
func TestTimeThatHasPassed(t *testing.T) {
	const usual = "containers: {main: {runs: [{run: 3s, exit: 1}, {}]}}\n"
	const set = usual + "events: [{at: 50ms, setClock: {by: 1h}}, {at: 2s, setClock: {by: -2h}}]\n"
	printed := func(says string, more ...string) string {
		stdout, stderr, _ := simulate(t, append(more, webPod(t), "--for", "2m", "--scenario", scenarioOf(t, says))...)
		return stdout + stderr
	}
	var lines []string
	for line := range strings.Lines(printed(set)) {
		if !strings.Contains(line, " clock is set ") {
			lines = append(lines, line)
		}
	}
	assert.Deep(t, "as usual (-), with the clock set (+)", printed(usual), strings.Join(lines, ""))
	for line := range strings.Lines(printed(set, "-o", "json")) {
		var l struct {
			Time    string  `json:"time"`
			Elapsed float64 `json:"elapsedSeconds"`
			What    string  `json:"what"`
		}
		assert.Must(t, json.Unmarshal([]byte(line), &l))
		assert.True(t, l.Elapsed >= 0 && l.Elapsed <= 120, "%v s have passed: %s", l.Elapsed, line)
		assert.True(t, l.What != "exited 1" || strings.HasPrefix(l.Time, "2025-12-31T23:00:04"), "the wall clock is not set back: %s", line)
	}
	assert.Deep(t, "the chart as usual (-), with the clock set (+)", printed(usual, "-o", "timeline"), printed(set, "-o", "timeline"))
}

// A pod that was looked at for too short a time is not said to have missed what it had more time for.
func TestWithinTheTimeThatWasLookedAt(t *testing.T) {
	job := write(t, "apiVersion: v1\nkind: Pod\nmetadata: {name: job}\nspec: {restartPolicy: Never, containers: [{name: main, image: 'nginx:1'}]}\n")
	for says, want := range map[string]string{
		"for: 1m":                         "fails at +60.000s, seed 1: the pod was not Succeeded by then, and was not looked at any longer (for, or --for)\n",
		"for: 10m":                        "",
		"events: [{at: 10s, delete: {}}]": "fails at +3600.000s, seed 1: the pod never was Succeeded\n",
	} {
		scenario := scenarioOf(t, "containers: {main: {runs: [{run: 5m, exit: 0}]}}\n"+says+"\n")
		_, stderr, code := simulate(t, job, "--scenario", scenario, "--assert", "Succeeded within 1h")
		failed := code == ExitAsserted
		assert.True(t, failed == (want != "") && strings.HasSuffix(stderr, want), "%s: exit code %d, want the end %q:\n%s", says, code, want, stderr)
	}
}
