package e2e

import (
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/internal/assert"
)

// ruleAll gives a container a rule that restarts all containers on exit code 42.
const ruleAll = "restartPolicy: Never\nrestartPolicyRules:\n- {action: RestartAllContainers, exitCodes: {operator: In, values: [42]}}"

// Containers tell each other how far they are by files in the volume that all of
// them have: nothing depends on how fast they start.

// await waits for a file.
func await(file string) string { return "while [ ! -e /v/" + file + " ]; do sleep 0.05; done; " }

// again is what a container does in its second life, which begins when /v/again
// is there; before that it does the first.
func again(first, second string) string {
	return "if [ -e /v/again ]; then " + second + "; fi; " + first
}

// TestRestartAllContainers: whichever kind of container ends with the code, all of
// them restart in place, once, in the same sandbox with the same volumes
// (B-RAC-E1..E5).
func TestRestartAllContainers(t *testing.T) {
	t.Parallel()
	const (
		sidecar  = "restartPolicy: Always"
		sleeps   = "exec sleep 100"
		tellsAll = "touch /v/again; exit 42"
	)
	for _, tc := range []struct {
		name, policy, containers string
		restarts                 map[string]int32
		phases                   string
	}{
		{
			name: "regular", policy: "Never", phases: "Pending Running Pending Running Succeeded",
			containers: "initContainers:\n" + shell("setup", "true") + shell("watcher", sleeps, sidecar) +
				"containers:\n" + shell("main", again(await("b")+tellsAll, "exit 0"), mountV, ruleAll) + shell("b", "touch /v/b", mountV),
			restarts: map[string]int32{"setup": 1, "watcher": 1, "main": 1, "b": 1},
		},
		{
			name: "sidecar", policy: "Never", phases: "Pending Running Pending Running Succeeded",
			containers: "initContainers:\n" + shell("setup", "true") +
				shell("watcher", again(await("main")+tellsAll, sleeps), mountV, strings.Replace(ruleAll, "Never", "Always", 1)) +
				shell("other", sleeps, sidecar) +
				"containers:\n" + shell("main", again("touch /v/main; "+sleeps, "exit 0"), mountV),
			restarts: map[string]int32{"setup": 1, "watcher": 1, "other": 1, "main": 1},
		},
		{
			name: "init", policy: "Never", phases: "Pending Running Succeeded",
			containers: "initContainers:\n" + shell("watcher", sleeps, sidecar) + shell("done", "true") +
				shell("i", again(tellsAll, "exit 0"), mountV, ruleAll) + "containers:\n" + shell("main", "true"),
			restarts: map[string]int32{"watcher": 1, "done": 1, "i": 1, "main": 0},
		},
		{
			name: "several", policy: "Never", phases: "Pending Running Succeeded",
			containers: "containers:\n" + shell("a", again(await("b")+tellsAll, "exit 0"), mountV, ruleAll) +
				shell("b", again("touch /v/b; "+sleeps, "exit 0"), mountV, ruleAll),
			restarts: map[string]int32{"a": 1, "b": 1},
		},
		{
			name: "after-crash", policy: "Always", phases: "Pending Running Failed",
			containers: "containers:\n" + shell("a", "echo x >> /v/tries; case $(wc -l /v/tries) in 1) exit 1;; 2) "+await("b1")+tellsAll+";; *) "+await("b2")+"exit 3;; esac", mountV,
				strings.Replace(strings.Replace(ruleAll, "Never", "OnFailure", 1), "]}}", "]}}\n- {action: TerminatePod, exitCodes: {operator: In, values: [3]}}", 1)) +
				shell("b", again("touch /v/b1; "+sleeps, "touch /v/b2; "+sleeps), mountV),
			restarts: map[string]int32{"a": 2, "b": 1},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			code := 0
			if strings.HasSuffix(tc.phases, "Failed") {
				code = 3
			}
			result := shared.runStory(t, code, pod("restart-all-"+tc.name, "restartPolicy: "+tc.policy+"\nvolumes: [{name: v, emptyDir: {}}]\n"+tc.containers))
			for name, want := range tc.restarts {
				c := containerNamed(t, result.last(t), name)
				assert.True(t, c.RestartCount == want && (c.LastTerminationState.Terminated != nil) == (want > 0),
					"%s: %d restarts, last state %+v; want %d restarts", name, c.RestartCount, c.LastTerminationState.Terminated, want)
			}
			var phases []string
			for _, phase := range result.phases() {
				phases = append(phases, string(phase))
			}
			assert.Deep(t, "phases", tc.phases, strings.Join(phases, " "))
			inPlace(t, result)
		})
	}
}

// inPlace: AllContainersRestarting was True once and False before and after,
// while sandbox and address stayed what they were (B-RAC-3, B-RAC-4, B-RAC-8).
func inPlace(t *testing.T, result story) {
	t.Helper()
	var restarting []v1.ConditionStatus
	var addresses []string
	for _, status := range result.statuses() {
		for _, c := range status.Conditions {
			if c.Type == v1.AllContainersRestarting {
				restarting = append(restarting, c.Status)
			}
		}
		if status.PodIP != "" {
			addresses = append(addresses, status.PodIP)
		}
	}
	if got := slices.Compact(restarting); !slices.Equal(got, []v1.ConditionStatus{v1.ConditionFalse, v1.ConditionTrue, v1.ConditionFalse}) {
		t.Errorf("AllContainersRestarting was %v", got)
	}
	got := slices.Compact(addresses)
	assert.True(t, len(got) == 1, "the pod's address was %v", got)
	for _, o := range result {
		assert.True(t, o.Reason != "SandboxChanged", "the sandbox was changed")
	}
}

// TestRestartAllKeepsTheCause: lastState of the container whose exit was the
// cause is its own end; a victim's says what happened to it (B-RAC-11, B-RAC-12).
func TestRestartAllKeepsTheCause(t *testing.T) {
	t.Parallel()
	result := shared.runStory(t, 0, pod("restart-all-cause", "restartPolicy: Never\nvolumes: [{name: v, emptyDir: {}}]\ncontainers:\n"+
		shell("main", again(await("b")+"echo broken > /dev/termination-log; touch /v/again; exit 42", "exit 0"), mountV, ruleAll)+
		shell("b", again("touch /v/b; exec sleep 100", "exit 0"), mountV)))
	main := containerNamed(t, result.last(t), "main").LastTerminationState.Terminated
	assert.True(t, main != nil && main.ExitCode == 42 && main.Reason == "Error" && main.Message == "broken\n", "the cause's last state is %+v", main)
	b := containerNamed(t, result.last(t), "b").LastTerminationState.Terminated
	assert.True(t, b != nil && b.ExitCode == 137 && b.Reason == "RestartingAllContainers", "the victim's last state is %+v", b)
}

// TestOwnActions: Complete counts an exit as success, TerminatePod ends the pod
// gracefully, and it has failed.
func TestOwnActions(t *testing.T) {
	t.Parallel()
	action := func(action string) string {
		return "restartPolicy: Always\nrestartPolicyRules:\n- {action: " + action + ", exitCodes: {operator: In, values: [9]}}"
	}
	result := shared.runStory(t, 0, pod("complete", "containers:\n"+shell("main", "exit 9", action("Complete"))))
	if got := result.last(t); got.Phase != v1.PodSucceeded || got.ContainerStatuses[0].State.Terminated.ExitCode != 9 {
		t.Errorf("after Complete: phase %s, %+v", got.Phase, got.ContainerStatuses[0].State)
	}
	result = shared.runStory(t, 9, pod("terminate", "volumes: [{name: v, emptyDir: {}}]\ncontainers:\n"+
		shell("main", "while [ ! -e /v/b ]; do sleep 0.1; done; exit 9", mountV, action("TerminatePod"))+
		shell("b", "trap 'echo bye; exit 0' TERM; touch /v/b; while :; do sleep 0.1; done", mountV)))
	if got := result.last(t); got.Phase != v1.PodFailed || got.Reason != "TerminatePod" || result.output("b") != "bye\n" {
		t.Errorf("after TerminatePod: phase %s, reason %s, b wrote %q", got.Phase, got.Reason, result.output("b"))
	}
}
