package agent

import (
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/e2e/machine"
	"github.com/lifepod/lifepod/internal/assert"
)

// TestReadinessGate: somebody else's condition decides, too, and stays as it was set.
func TestReadinessGate(t *testing.T) {
	t.Parallel()
	c := newCluster(t, shared)
	c.create(`
metadata: {name: pod}
spec:
  terminationGracePeriodSeconds: 1
  readinessGates: [{conditionType: example.com/gate}]
  containers:
  - {name: main, image: TOOLBOX, command: [sleep, --on-term, "0", "3600"], resources: {limits: {memory: 64Mi}}}
`)
	gated := c.await("pod", "to run", func(pod *v1.Pod) bool { return pod.Status.Phase == v1.PodRunning })
	condition := machine.PodCondition(gated, v1.PodReady)
	assert.True(t, condition.Status == v1.ConditionFalse && condition.Reason == "ReadinessGatesNotReady" &&
		condition.Message == `corresponding condition of pod readiness gate "example.com/gate" does not exist.`, "condition Ready %+v, want False for want of the gate", condition)
	for _, status := range []v1.ConditionStatus{v1.ConditionTrue, v1.ConditionFalse} {
		c.kubectl("patch", "pod", "pod", "--subresource=status",
			`--patch={"status":{"conditions":[{"type":"example.com/gate","status":"`+string(status)+`"}]}}`)
		pod := c.await("pod", "to follow the gate", func(pod *v1.Pod) bool { return machine.PodCondition(pod, v1.PodReady).Status == status })
		got := machine.PodCondition(pod, "example.com/gate").Status
		assert.True(t, got == status, "the gate's own condition is %s, want %s as it was set", got, status)
	}
}

// TestChangesOfARunningPod: its image, its labels in a volume and its deadline can be
// changed while it runs.
func TestChangesOfARunningPod(t *testing.T) {
	t.Parallel()
	c := newCluster(t, shared)
	c.create(`
metadata: {name: pod, labels: {app: before}}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - {name: main, image: TOOLBOX, command: [sleep, --on-term, "0", "3600"], volumeMounts: [{name: info, mountPath: /info}],
     resources: {limits: {memory: 64Mi}}}
  - {name: other, image: TOOLBOX, command: [sleep, --on-term, "0", "3600"], resources: {limits: {memory: 64Mi}}}
  volumes: [{name: info, downwardAPI: {items: [{path: app, fieldRef: {fieldPath: "metadata.labels['app']"}}]}}]
`)
	before := c.awaitReady("pod")
	c.kubectl("label", "pod", "pod", "app=after", "--overwrite")
	c.kubectl("exec", "pod", "--container=main", "--", "sh", "-c", `while [ "$(cat /info/app)" != after ]; do sleep 0.05; done`)

	c.kubectl("set", "image", "pod/pod", "main=docker.io/lifepod.dev/no-such:1")
	waits := c.await("pod", "to want another image", func(pod *v1.Pod) bool { return pod.Status.ContainerStatuses[0].State.Waiting != nil })
	c.kubectl("set", "image", "pod/pod", "main=lifepod.dev/toolbox:1")
	after := c.awaitReady("pod")
	assert.True(t, after.Status.ContainerStatuses[0].ContainerID != before.Status.ContainerStatuses[0].ContainerID,
		"the container is the same after its image was changed twice:\n%s", summary([]v1.Pod{*waits, *after}))
	assert.Deep(t, "the other container", before.Status.ContainerStatuses[1].ContainerID, after.Status.ContainerStatuses[1].ContainerID)

	c.kubectl("patch", "pod", "pod", `--patch={"spec":{"activeDeadlineSeconds":1}}`)
	pod := c.await("pod", "to its deadline", func(pod *v1.Pod) bool { return pod.Status.Phase == v1.PodFailed })
	assert.Deep(t, "why the pod failed", "DeadlineExceeded: Pod was active on the node longer than the specified deadline", pod.Status.Reason+": "+pod.Status.Message)
}

// TestObjectsReachRunningPods: what ConfigMaps and Secrets have changes in the volumes of
// running pods, whatever way they came there.
func TestObjectsReachRunningPods(t *testing.T) {
	t.Parallel()
	c := newCluster(t, shared)
	c.kubectl("create", "configmap", "settings", "--from-literal=value=one")
	c.kubectl("create", "secret", "generic", "password", "--from-literal=value=one")
	c.create(`
metadata: {name: pod}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - {name: main, image: TOOLBOX, command: [sleep, --on-term, "0", "3600"],
     env: [{name: ENV, valueFrom: {configMapKeyRef: {name: settings, key: value}}}],
     volumeMounts: [{name: settings, mountPath: /settings}, {name: password, mountPath: /password}, {name: both, mountPath: /both}],
     resources: {limits: {memory: 64Mi}}}
  volumes:
  - {name: settings, configMap: {name: settings}}
  - {name: password, secret: {secretName: password}}
  - {name: both, projected: {sources: [{configMap: {name: settings}}, {secret: {name: password, items: [{key: value, path: secret}]}}]}}
`)
	c.awaitReady("pod")
	shows := "cat /settings/value /password/value /both/value /both/secret; echo $ENV"
	assert.Deep(t, "at the start", "oneoneoneoneone\n", c.kubectl("exec", "pod", "--", "sh", "-c", shows))
	c.kubectl("patch", "configmap", "settings", `--patch={"data":{"value":"two"}}`)
	c.kubectl("patch", "secret", "password", `--patch={"stringData":{"value":"two"}}`)
	c.kubectl("exec", "pod", "--", "sh", "-c", `while [ "$(`+shows+`)" != twotwotwotwoone ]; do sleep 0.05; done`)
}

// TestLateObjects: a pod goes on when what it waits for appears.
func TestLateObjects(t *testing.T) {
	t.Parallel()
	c := newCluster(t, shared)
	c.create(`
metadata: {name: pod}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - {name: main, image: TOOLBOX, command: [sleep, --on-term, "0", "3600"], envFrom: [{configMapRef: {name: late}}],
     volumeMounts: [{name: late, mountPath: /late}], resources: {limits: {memory: 64Mi}}}
  volumes: [{name: late, secret: {secretName: late}}]
`)
	event := c.awaitEvent("pod", v1.EventTypeWarning, "FailedMount")
	assert.Deep(t, "event", `MountVolume.SetUp failed for volume "late" : secret "late" not found`, event.Message)
	c.kubectl("create", "secret", "generic", "late", "--from-literal=a=b")
	pod := c.await("pod", "to want its environment", func(pod *v1.Pod) bool {
		s := pod.Status.ContainerStatuses
		return len(s) == 1 && s[0].State.Waiting != nil && s[0].State.Waiting.Reason == "CreateContainerConfigError"
	})
	assert.Deep(t, "what it waits for", `configmap "late" not found`, pod.Status.ContainerStatuses[0].State.Waiting.Message)
	c.kubectl("create", "configmap", "late", "--from-literal=A=b")
	c.awaitReady("pod")
}
