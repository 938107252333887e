package agent

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/e2e/member"
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
		if err := os.WriteFile(fresh, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(fresh, file); err != nil {
			t.Fatal(err)
		}
	}
	name := "fixed-" + c.node.Name
	write(strings.Replace(manifest, "GENERATION", "one", 1))
	first := c.awaitReady(name)
	c.awaitLine(name, "one")
	if first.Annotations[v1.MirrorPodAnnotationKey] == "" || first.Annotations["kubernetes.io/config.source"] != "file" {
		t.Errorf("annotations of the mirror pod: %v", first.Annotations)
	}

	c.kubectl("delete", "pod", name, "--wait=false", "--grace-period=0", "--force")
	second := c.await(name, "to appear again", func(pod *v1.Pod) bool { return pod.UID != first.UID && isReady(pod) })
	if diff := cmp.Diff(containerIDs(first), containerIDs(second)); diff != "" {
		t.Errorf("containers after the mirror pod was deleted (-want +got):\n%s", diff)
	}

	write(strings.Replace(manifest, "GENERATION", "two", 1))
	c.untilDeleted(second)
	c.awaitReady(name)
	c.awaitLine(name, "two")
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := c.untilGone(t.Context(), name); err != nil {
		t.Fatal(err)
	}
}

func containerIDs(pod *v1.Pod) []string {
	var list []string
	for _, s := range pod.Status.ContainerStatuses {
		list = append(list, s.ContainerID)
	}
	return list
}
