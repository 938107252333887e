package agent

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/e2e/machine"
	"github.com/lifepod/lifepod/internal/assert"
)

// TestStatefulSet: its pods begin and end one after the other, each with a volume and a
// name of its own, which are the same after the pod was replaced.
func TestStatefulSet(t *testing.T) {
	t.Parallel()
	c := newCluster(t, shared)
	class := c.namespace
	for i := range 2 {
		dir := filepath.Join(t.TempDir(), fmt.Sprint(i))
		assert.Must(t, os.Mkdir(dir, 0o755))
		c.localVolume(class, fmt.Sprintf("%s-%d", class, i), dir)
	}
	c.apply(strings.ReplaceAll(`
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  replicas: 2
  serviceName: db
  selector: {matchLabels: {app: db}}
  persistentVolumeClaimRetentionPolicy: {whenDeleted: Delete}
  template:
    metadata: {labels: {app: db}}
    spec:
      nodeSelector: {kubernetes.io/hostname: NODE}
      terminationGracePeriodSeconds: 2
      containers:
      - {name: main, image: TOOLBOX, command: [sh, -c, "echo $(hostname) >> /data/names; exec sleep --on-term 0 3600"],
         volumeMounts: [{name: data, mountPath: /data}], resources: {limits: {memory: 64Mi}}}
  volumeClaimTemplates:
  - metadata: {name: data}
    spec: {storageClassName: CLASS, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Mi}}}
`, "CLASS", class))
	c.kubectl("rollout", "status", "statefulset/db", "--timeout=60s")
	first, second := c.awaitReady("db-0"), c.awaitReady("db-1")
	ready := machine.PodCondition(first, v1.PodReady).LastTransitionTime
	assert.True(t, !second.CreationTimestamp.Before(&ready), "db-1 was created at %v, before db-0 was ready at %v", second.CreationTimestamp, ready)
	c.kubectl("delete", "pod", "db-0")
	c.await("db-0", "to be replaced", func(pod *v1.Pod) bool { return pod.UID != first.UID && machine.IsReady(pod) })
	assert.Deep(t, "what is on the volume", "db-0\ndb-0\n", c.kubectl("exec", "db-0", "--", "cat", "/data/names"))
	c.kubectl("scale", "statefulset/db", "--replicas=0")
	for gone := false; !gone; {
		pods := c.awaitPods("", "to have one less", func([]v1.Pod) bool { return true })
		gone = len(pods) == 0
		if len(pods) == 1 && pods[0].Name != "db-0" {
			t.Errorf("%s is left, want db-1 to be the first to go", pods[0].Name)
		}
	}
}

// localVolume makes a volume of a folder of the node.
func (c *cluster) localVolume(class, name, dir string) {
	c.t.Helper()
	c.apply(strings.NewReplacer("CLASS", class, "NAME", name, "DIR", dir).Replace(`
apiVersion: v1
kind: PersistentVolume
metadata: {name: NAME}
spec:
  storageClassName: CLASS
  accessModes: [ReadWriteOnce]
  capacity: {storage: 1Mi}
  local: {path: DIR}
  nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [NODE]}]}]}}
`))
	c.t.Cleanup(func() { c.outsideTest("delete", "persistentvolume", name, "--wait=false") })
}

// TestDaemonSet: every node has a pod of it, and an update replaces them.
func TestDaemonSet(t *testing.T) {
	t.Parallel()
	c := newCluster(t, shared)
	c.apply(`
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: each}
spec:
  selector: {matchLabels: {app: each}}
  template:
    metadata: {labels: {app: each}}
    spec:
      nodeSelector: {kubernetes.io/hostname: NODE}
      terminationGracePeriodSeconds: 2
      containers:
      - {name: main, image: TOOLBOX, command: [sleep, --on-term, "0", "3600"], resources: {limits: {memory: 64Mi}}}
`)
	c.kubectl("rollout", "status", "daemonset/each", "--timeout=60s")
	c.kubectl("set", "env", "daemonset/each", "GENERATION=2")
	c.kubectl("rollout", "status", "daemonset/each", "--timeout=60s")
	pods := c.awaitPods("app=each", "to be one", func(pods []v1.Pod) bool { return len(pods) == 1 })
	want := []v1.EnvVar{{Name: "GENERATION", Value: "2"}}
	diff := cmp.Diff(want, pods[0].Spec.Containers[0].Env)
	assert.True(t, diff == "" && pods[0].Spec.NodeName == c.node.Name, "pod of the update on node %s (-want +got):\n%s", pods[0].Spec.NodeName, diff)
	c.kubectl("delete", "daemonset", "each")
	c.awaitPods("app=each", "to be gone", func(pods []v1.Pod) bool { return len(pods) == 0 })
}
