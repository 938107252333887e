package agent

import (
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/e2e/machine"
	"github.com/lifepod/lifepod/internal/assert"
)

// TestRestartAllContainers: one exit code starts everything anew, which a watch sees
// begin and end (B-RAC-E1).
func TestRestartAllContainers(t *testing.T) {
	t.Parallel()
	plane.Needs(t, "RestartAllContainersOnContainerExits")
	c := newCluster(t, shared)
	c.create(`
metadata: {name: pod}
spec:
  restartPolicy: Never
  terminationGracePeriodSeconds: 1
  containers:
  - {name: main, image: TOOLBOX, command: [sh, -c, "while [ ! -e /v/go ]; do sleep 0.05; done; rm /v/go; exit 42"], restartPolicy: Never,
     restartPolicyRules: [{action: RestartAllContainers, exitCodes: {operator: In, values: [42]}}], volumeMounts: [{name: v, mountPath: /v}],
     resources: {limits: {memory: 64Mi}}}
  - {name: other, image: TOOLBOX, command: [sleep, --on-term, "0", "3600"], volumeMounts: [{name: v, mountPath: /v}], resources: {limits: {memory: 64Mi}}}
  volumes: [{name: v, emptyDir: {}}]
`)
	before := c.awaitReady("pod")
	c.kubectl("exec", "pod", "--container=other", "--", "touch", "/v/go")
	c.await("pod", "to restart everything", func(pod *v1.Pod) bool {
		return machine.PodCondition(pod, v1.AllContainersRestarting).Status == v1.ConditionTrue
	})
	after := c.await("pod", "to run again", func(pod *v1.Pod) bool {
		s := pod.Status.ContainerStatuses
		return machine.IsReady(pod) && s[0].RestartCount == 1 && s[1].RestartCount == 1 &&
			machine.PodCondition(pod, v1.AllContainersRestarting).Status == v1.ConditionFalse
	})
	assert.Deep(t, "addresses", before.Status.PodIPs, after.Status.PodIPs)
}

// TestResizeInPlace: CPU without a restart, memory with one because the container wants it.
func TestResizeInPlace(t *testing.T) {
	t.Parallel()
	c := newCluster(t, shared)
	c.create(`
metadata: {name: pod}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - {name: main, image: TOOLBOX, command: [sleep, --on-term, "0", "3600"], resizePolicy: [{resourceName: memory, restartPolicy: RestartContainer}],
     resources: {requests: {cpu: 1m, memory: 32Mi}, limits: {cpu: 100m, memory: 64Mi}}}
`)
	before := c.awaitReady("pod")
	for _, resize := range []struct {
		to       string
		restarts int32
	}{{`{"requests":{"cpu":"2m"},"limits":{"cpu":"150m"}}`, 0}, {`{"requests":{"memory":"40Mi"},"limits":{"memory":"80Mi"}}`, 1}} {
		c.kubectl("patch", "pod", "pod", "--subresource=resize", `--patch={"spec":{"containers":[{"name":"main","resources":`+resize.to+`}]}}`)
		c.await("pod", "to its new size", func(pod *v1.Pod) bool {
			s := pod.Status.ContainerStatuses[0]
			wanted := pod.Spec.Containers[0].Resources
			return s.RestartCount == resize.restarts && s.Resources != nil && machine.IsReady(pod) && pod.Status.ObservedGeneration == pod.Generation &&
				machine.PodCondition(pod, v1.PodResizeInProgress).Status == "" &&
				s.Resources.Limits.Cpu().Cmp(*wanted.Limits.Cpu()) == 0 && s.Resources.Limits.Memory().Cmp(*wanted.Limits.Memory()) == 0
		})
	}
	after := c.awaitReady("pod")
	assert.Deep(t, "address", before.Status.PodIP, after.Status.PodIP)
	c.awaitEvent("pod", v1.EventTypeNormal, "ResizeCompleted")
}
