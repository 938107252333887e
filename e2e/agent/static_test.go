package agent

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/e2e/machine"
	"github.com/lifepod/lifepod/e2e/member"
	"github.com/lifepod/lifepod/internal/assert"
)

// TestStaticPod: its mirror pod shows it to kubectl; deleting that changes nothing, and
// another manifest replaces the pod (B-STA-4, B-STA-5).
func TestStaticPod(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := newCluster(t, newNode(t, member.Config{Kubelet: map[string]any{"staticPodPath": dir, "fileCheckFrequency": "1s"}}))
	manifest := strings.NewReplacer("TOOLBOX", "lifepod.dev/toolbox:1", "NAMESPACE", c.namespace).Replace(`
apiVersion: v1
kind: Pod
metadata: {name: fixed, namespace: NAMESPACE}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - {name: main, image: TOOLBOX, command: [sh, -c, "echo GENERATION; exec sleep 3600"], resources: {limits: {memory: 64Mi}}}
`)
	file, fresh := filepath.Join(dir, "fixed.yaml"), filepath.Join(dir, ".fixed.yaml") // which nobody reads (B-STA-1)
	t.Cleanup(func() { _ = os.Remove(file) })                                          // before the node ends
	write := func(text string) {
		t.Helper()
		assert.Must(t, os.WriteFile(fresh, []byte(text), 0o600))
		assert.Must(t, os.Rename(fresh, file))
	}
	name := "fixed-" + c.node.Name
	write(strings.Replace(manifest, "GENERATION", "one", 1))
	first := c.awaitReady(name)
	c.awaitLine(name, "one")
	assert.True(t, first.Annotations[v1.MirrorPodAnnotationKey] != "" && first.Annotations["kubernetes.io/config.source"] == "file",
		"annotations of the mirror pod: %v", first.Annotations)

	c.kubectl("delete", "pod", name, "--wait=false", "--grace-period=0", "--force")
	second := c.await(name, "to appear again", func(pod *v1.Pod) bool { return pod.UID != first.UID && machine.IsReady(pod) })
	assert.Deep(t, "containers after the mirror pod was deleted", containerIDs(first), containerIDs(second))

	write(strings.Replace(manifest, "GENERATION", "two", 1))
	c.untilDeleted(second)
	c.awaitReady(name)
	c.awaitLine(name, "two")
	assert.Must(t, os.Remove(file))
	assert.Must(t, c.untilGone(t.Context(), name))
}

// TestForgedMirrorPod: a pod with the annotation of a mirror pod and the UID of another
// namespace's pod is not run, takes nothing of that pod's and is deleted, while the other
// one lives and ends as ever.
func TestForgedMirrorPod(t *testing.T) {
	t.Parallel()
	victim, attacker := newCluster(t, shared), newCluster(t, shared)
	victim.create(polite)
	pod := victim.awaitReady("pod")
	attacker.create(strings.NewReplacer("NODE", shared.Name, "UID", string(pod.UID)).Replace(`
metadata: {name: forged, annotations: {kubernetes.io/config.mirror: UID}, finalizers: [example.com/hold]}
spec:
  nodeName: NODE
  containers: [{name: main, image: TOOLBOX, command: [sleep, "3600"], resources: {limits: {memory: 64Mi}}}]
`))
	attacker.await("forged", "to be deleted by the node", func(pod *v1.Pod) bool { return pod.DeletionTimestamp != nil })
	victim.kubectl("delete", "pod", "pod", "--wait=false")
	assert.Deep(t, "phase when the object went", v1.PodFailed, victim.untilDeleted(pod).Status.Phase)
	forged := attacker.await("forged", "to be looked at", func(*v1.Pod) bool { return true })
	assert.True(t, forged.Status.Phase == v1.PodPending && len(forged.Status.ContainerStatuses) == 0,
		"the forged pod has a status:\n%s", summary([]v1.Pod{*forged}))
	attacker.kubectl("patch", "pod", "forged", "--type=json", `--patch=[{"op":"remove","path":"/metadata/finalizers"}]`)
	attacker.untilDeleted(forged)
}

func containerIDs(pod *v1.Pod) []string {
	var list []string
	for _, s := range pod.Status.ContainerStatuses {
		list = append(list, s.ContainerID)
	}
	return list
}
