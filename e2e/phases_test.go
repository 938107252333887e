package e2e

import (
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/internal/assert"
)

func TestStory(t *testing.T) {
	t.Parallel()
	got := shared.run(t, script("hello", "echo hello from $(hostname)"))
	got.check(t, 0, "hello from hello\n", `
+ pod sandbox ready, address ADDRESS
+ main started
+ pod Running
+ pod Ready
+ main exited 0 (restartPolicy Never)
+ pod ends (all its containers have ended)
+ pod Succeeded`)
}

func TestVerboseStory(t *testing.T) {
	t.Parallel()
	got := shared.run(t, script("verbose", "exit 3"), "-v")
	got.check(t, 3, "", `
+ pod Pending  [A-PHASE-5]
+ pod Initialized  [A-COND-4]
+ event Normal Pulled spec.containers{main}: Container image "lifepod.dev/toolbox:1" already present on machine and can be accessed by the pod
+ pod sandbox ready, address ADDRESS  [A-COND-3]
+ event Normal Created spec.containers{main}: Container created
+ event Normal Started spec.containers{main}: Container started
+ main started  [A-ACT-10]
+ pod Running  [A-PHASE-5]
+ pod Ready  [A-COND-6]
+ main exited 3 → not restarted (restartPolicy Never)  [A-RST-2]
+ pod ends (all its containers have ended)  [A-ACT-13]
+ pod Failed  [A-PHASE-5]`)
}

// conditions are a status's conditions that are true, or false and why.
func conditions(status v1.PodStatus) map[v1.PodConditionType]string {
	all := map[v1.PodConditionType]string{}
	for _, c := range status.Conditions {
		all[c.Type] = string(c.Status)
		if c.Reason != "" {
			all[c.Type] += " " + c.Reason
		}
	}
	return all
}

func TestStatusOverTime(t *testing.T) {
	t.Parallel()
	result := shared.runStory(t, 0, pod("status", `
restartPolicy: Never
initContainers:
`+shell("prepare", "true")+`
containers:
`+shell("main", "echo hello")))
	assert.Deep(t, "phases", []v1.PodPhase{v1.PodPending, v1.PodRunning, v1.PodSucceeded}, result.phases())
	all := result.statuses()
	for _, tc := range []struct {
		when string
		got  v1.PodStatus
		want map[v1.PodConditionType]string
	}{
		{"first", all[0], map[v1.PodConditionType]string{
			"PodScheduled": "True", "PodReadyToStartContainers": "False PodSandboxNotReady", "Initialized": "False ContainersNotInitialized",
			"ContainersReady": "False ContainersNotReady", "Ready": "False ContainersNotReady",
		}},
		{"last", result.last(t), map[v1.PodConditionType]string{
			"PodScheduled": "True", "PodReadyToStartContainers": "False PodSandboxNotReady", "Initialized": "True PodCompleted",
			"ContainersReady": "False PodCompleted", "Ready": "False PodCompleted",
		}},
	} {
		assert.Deep(t, fmt.Sprintf("conditions of the %s status", tc.when), tc.want, conditions(tc.got))
	}
	last := result.last(t)
	for _, name := range []string{"prepare", "main"} {
		c := containerNamed(t, last, name)
		assert.True(t, c.State.Terminated != nil && c.State.Terminated.Reason == "Completed" && c.RestartCount == 0,
			"container %s ended as %+v, %d restarts", name, c.State, c.RestartCount)
	}
	assert.Deep(t, "events", []string{"Pulled", "Created", "Started"}, result.reasons("main"))
	assert.True(t, last.PodIP != "" && last.HostIP != "" && last.QOSClass == v1.PodQOSBestEffort && last.StartTime != nil, "last status %+v", last)
}

// TestFastExits: an exit is never lost, however soon after the start it comes.
func TestFastExits(t *testing.T) {
	t.Parallel()
	for range 30 {
		got := shared.run(t, pod("fast", "restartPolicy: Never\ncontainers:\n- {name: main, image: TOOLBOX, command: ['true']}"))
		assert.Require(t, got.code == 0, "exit code %d\n%s", got.code, got.stderr)
	}
}
