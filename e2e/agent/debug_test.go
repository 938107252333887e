package agent

import (
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/e2e/machine"
	"github.com/lifepod/lifepod/internal/assert"
)

// TestDebugContainer: kubectl debug puts a container into a pod that runs, which sees
// the processes of the one that it is to look at.
func TestDebugContainer(t *testing.T) {
	t.Parallel()
	c := newCluster(t, shared)
	before := c.create(sleeper)
	c.awaitReady("sleeper")
	c.kubectl("debug", "sleeper", "--image=lifepod.dev/toolbox:1", "--container=look", "--target=main", "--profile=general",
		"--", "sh", "-c", "ps; exit 3")
	pod := c.await("sleeper", "to be looked at", func(pod *v1.Pod) bool {
		s := pod.Status.EphemeralContainerStatuses
		return len(s) == 1 && s[0].State.Terminated != nil
	})
	if code := pod.Status.EphemeralContainerStatuses[0].State.Terminated.ExitCode; code != 3 || !machine.IsReady(pod) || pod.UID != before.UID {
		t.Errorf("exit code %d, want 3, and the pod ready as before:\n%s", code, summary([]v1.Pod{*pod}))
	}
	log := c.kubectl("logs", "sleeper", "--container=look")
	assert.True(t, strings.Contains(log, "sleep 3600"), "the container saw the processes\n%s\nwant that of the container that it looks at", log)
}

// TestDebugCopyAndNode: a copy of the pod that shares its processes, and a pod that sees
// the node.
func TestDebugCopyAndNode(t *testing.T) {
	t.Parallel()
	c := newCluster(t, shared)
	c.create(sleeper)
	c.awaitReady("sleeper")
	c.kubectl("debug", "sleeper", "--copy-to=copy", "--share-processes", "--image=lifepod.dev/toolbox:1", "--container=look",
		"--profile=general", "--", "sh", "-c", "while ! ps | grep 'sleep 3600' > /dev/null; do sleep 0.1; done; echo seen; exec sleep 3601")
	c.kubectl("debug", "node/"+c.node.Name, "--image=lifepod.dev/toolbox:1", "--profile=sysadmin", "--", "cat", "/host"+c.node.Root.Dir+"/resolv.conf")
	c.awaitReady("copy")
	c.awaitLine("copy", "seen", "--container=look")
	pods := c.awaitPods("app.kubernetes.io/managed-by=kubectl-debug", "to have ended", func(pods []v1.Pod) bool {
		return phases(pods)[v1.PodSucceeded]+phases(pods)[v1.PodFailed] == 1
	})
	for _, pod := range pods {
		if !strings.HasPrefix(pod.Name, "node-debugger-") {
			continue
		}
		log := c.kubectl("logs", pod.Name)
		assert.True(t, strings.HasPrefix(log, "nameserver "), "the pod on the node saw %q, want the node's file", log)
	}
}
