package e2e

import (
	"regexp"
	"testing"

	"github.com/lifepod/lifepod/internal/assert"
)

// TestSidecars: sidecars are started in order before the main container, and
// stopped after it in reverse order.
func TestSidecars(t *testing.T) {
	t.Parallel()
	sidecar := func(name string) string {
		return "- {name: " + name + ", image: TOOLBOX, restartPolicy: Always, command: [sleep, --on-term=0, infinity]}\n"
	}
	got := shared.run(t, pod("sidecars", `
restartPolicy: Never
initContainers:
`+sidecar("first")+sidecar("second")+sidecar("third")+`
containers:
`+shell("main", "exit 3")))
	got.check(t, 3, "", `
+ pod sandbox ready, address ADDRESS
+ first started
+ second started
+ third started
+ main started
+ pod Running
+ pod Ready
+ main exited 3 → not restarted (restartPolicy Never)
+ pod ends (all its containers have ended)
+ third exited 0 (stopped)
+ second exited 0 (stopped)
+ first exited 0 (stopped)
+ pod Failed`)
}

// TestSidecarRestarts: a sidecar that ends is started again while the main
// container runs, whatever the pod's restart policy and its exit code.
func TestSidecarRestarts(t *testing.T) {
	t.Parallel()
	result := shared.runStory(t, 0, pod("sidecar-restarts", `
restartPolicy: Never
volumes: [{name: v, emptyDir: {}}]
initContainers:
`+shell("proxy", `
[ -e /v/once ] && { touch /v/twice; exec sleep --on-term=0 infinity; }
touch /v/once
exit 0`, mountV, "restartPolicy: Always")+`
containers:
`+shell("main", "until [ -e /v/twice ]; do sleep 0.05; done", mountV)))
	proxy := containerNamed(t, result.last(t), "proxy")
	assert.True(t, proxy.RestartCount == 1 && proxy.LastTerminationState.Terminated != nil && proxy.LastTerminationState.Terminated.ExitCode == 0,
		"proxy: %+v", proxy)
}

// TestSidecarOutput: lines have their container's name in front.
func TestSidecarOutput(t *testing.T) {
	t.Parallel()
	got := shared.run(t, pod("names", "restartPolicy: Never\ncontainers:\n"+shell("a", "echo 1; echo 2")+shell("b", "echo 3 >&2")))
	lines := regexp.MustCompile(`(?m)^. \| .$`).FindAllString(got.stdout, -1)
	count := map[string]int{}
	for _, line := range lines {
		count[line]++
	}
	assert.Deep(t, "lines", map[string]int{"a | 1": 1, "a | 2": 1, "b | 3": 1}, count)
}
