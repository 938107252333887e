package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lifepod/lifepod/internal/assert"
)

// twice fails with a code the first time, the second time it ends with another.
func twice(first, second string) string {
	return "[ -e /v/once ] && exit " + second + "; touch /v/once; exit " + first
}

// TestRestartPolicies: what decides whether a container is started again.
func TestRestartPolicies(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, policy, container string
		first, second           string
		code                    int
		restarts                int32
		because                 string
	}{
		{name: "never", policy: "Never", first: "4", second: "0", code: 4, because: "restartPolicy Never"},
		{name: "on-failure", policy: "OnFailure", first: "4", second: "0", restarts: 1, because: "restartPolicy OnFailure, 1st failure"},
		{name: "success", policy: "OnFailure", first: "0", second: "5", because: "restartPolicy OnFailure"},
		{
			name: "container", policy: "Never", container: "restartPolicy: OnFailure",
			first: "4", second: "0", restarts: 1, because: "the container's restartPolicy OnFailure, 1st failure",
		},
		{
			name: "never-container", policy: "OnFailure", container: "restartPolicy: Never",
			first: "4", second: "0", code: 4, because: "the container's restartPolicy Never",
		},
		{
			name: "rule", policy: "Never", first: "42", second: "7", code: 7, restarts: 1,
			container: "restartPolicy: Never\nrestartPolicyRules:\n- {action: Restart, exitCodes: {operator: In, values: [42]}}",
			because:   "restartPolicyRules[0]: exit code In [42] → Restart, 1st failure",
		},
		{
			name: "rule-not-in", policy: "Never", first: "1", second: "0", restarts: 1,
			container: "restartPolicy: Never\nrestartPolicyRules:\n- {action: Restart, exitCodes: {operator: NotIn, values: [0, 2]}}",
			because:   "restartPolicyRules[0]: exit code NotIn [0 2] → Restart, 1st failure",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			result := shared.runStory(t, tc.code, pod("restart-"+tc.name, "restartPolicy: "+tc.policy+`
volumes: [{name: v, emptyDir: {}}]
containers:
`+shell("main", twice(tc.first, tc.second), mountV, tc.container)))
			main := containerNamed(t, result.last(t), "main")
			assert.Deep(t, "restarts", tc.restarts, main.RestartCount)
			assert.True(t, (main.LastTerminationState.Terminated != nil) == (tc.restarts > 0),
				"last state %+v after %d restarts", main.LastTerminationState, tc.restarts)
			for _, o := range result {
				if o.Subject == "main" && strings.HasPrefix(o.What, "exited") {
					assert.Deep(t, "exit because", tc.because, o.Because)
					break
				}
			}
		})
	}
}

// TestOnExit: the form of restart rules that published examples use is read,
// with a warning.
func TestOnExit(t *testing.T) {
	t.Parallel()
	got := shared.run(t, pod("on-exit", `
restartPolicy: Never
volumes: [{name: v, emptyDir: {}}]
containers:
`+shell("main", twice("42", "0"), mountV, `
restartPolicy: Never
restartPolicyRules:
- action: Restart
  onExit:
    exitCodes: {operator: In, values: [42]}`)))
	assert.True(t, got.code == 0 && strings.HasPrefix(got.stderr, "warning: ") && strings.Contains(got.stderr, "onExit"),
		"exit code %d, stderr:\n%s", got.code, got.stderr)
}

// TestCrashLoopBackOff: the first restart comes at once, the second 10 s after
// the exit; meanwhile the status says CrashLoopBackOff.
func TestCrashLoopBackOff(t *testing.T) {
	t.Parallel()
	result := shared.runStory(t, 0, pod("crash", `
restartPolicy: OnFailure
volumes: [{name: v, emptyDir: {}}]
containers:
`+shell("main", "echo try >> /v/tries; [ $(wc -l /v/tries) = 3 ] || exit 9", mountV)))
	var waits []string
	for _, status := range result.statuses() {
		if c := containerNamed(t, status, "main"); c.State.Waiting != nil {
			waits = append(waits, fmt.Sprintf("%d %s", c.RestartCount, c.State.Waiting.Reason))
		}
	}
	assert.True(t, !slices.Contains(waits, "0 CrashLoopBackOff") && slices.Contains(waits, "1 CrashLoopBackOff"),
		"restarts and what was waited for: %v", slices.Compact(waits))
	main := containerNamed(t, result.last(t), "main")
	assert.Require(t, main.RestartCount == 2 && main.LastTerminationState.Terminated.ExitCode == 9, "main: %+v", main)
	// Both times are whole seconds, cut.
	delay := main.State.Terminated.StartedAt.Sub(main.LastTerminationState.Terminated.FinishedAt.Time)
	assert.True(t, delay >= 10*time.Second, "the second restart came %v after the exit", delay)
	assert.True(t, slices.Contains(result.reasons("main"), "BackOff"), "no event BackOff in %v", result.reasons("main"))
}
