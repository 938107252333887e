package agent

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
)

// TestInitContainersAndSidecars: one after the other, the sidecar as long as the pod.
func TestInitContainersAndSidecars(t *testing.T) {
	t.Parallel()
	c := newCluster(t, shared)
	c.create(`
metadata: {name: pod}
spec:
  restartPolicy: Never
  terminationGracePeriodSeconds: 5
  initContainers:
  - {name: first, image: TOOLBOX, command: [sh, -c, "echo first >> /v/order"], volumeMounts: [{name: v, mountPath: /v}], resources: {limits: {memory: 64Mi}}}
  - name: sidecar
    image: TOOLBOX
    restartPolicy: Always
    command: [sh, -c, "echo sidecar >> /v/order; touch /v/up; exec sleep --on-term 0 3600"]
    startupProbe: {exec: {command: [stat, /v/up]}, periodSeconds: 1, timeoutSeconds: 30}
    volumeMounts: [{name: v, mountPath: /v}]
    resources: {limits: {memory: 64Mi}}
  - {name: last, image: TOOLBOX, command: [sh, -c, "echo last >> /v/order"], volumeMounts: [{name: v, mountPath: /v}], resources: {limits: {memory: 64Mi}}}
  containers:
  - {name: main, image: TOOLBOX, command: [cat, /v/order], volumeMounts: [{name: v, mountPath: /v}], resources: {limits: {memory: 64Mi}}}
  volumes: [{name: v, emptyDir: {}}]
`)
	pod := c.await("pod", "to its end", func(pod *v1.Pod) bool { return pod.Status.Phase == v1.PodSucceeded })
	if diff := cmp.Diff("first\nsidecar\nlast\n", c.kubectl("logs", "pod", "--container=main")); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
	if end := pod.Status.InitContainerStatuses[1].State.Terminated; end == nil || end.ExitCode != 0 {
		t.Errorf("the sidecar came to %+v, want it to have ended with the pod", pod.Status.InitContainerStatuses[1].State)
	}
}

// TestProbesDecide: readiness follows its probe both ways, and liveness restarts.
func TestProbesDecide(t *testing.T) {
	t.Parallel()
	c := newCluster(t, shared)
	c.create(`
metadata: {name: pod}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - name: main
    image: TOOLBOX
    command: [sleep, --on-term, "0", "3600"]
    readinessProbe: {exec: {command: [stat, /v/ready]}, periodSeconds: 1, timeoutSeconds: 30, failureThreshold: 1}
    livenessProbe: {exec: {command: [sh, -c, "test ! -e /v/sick"]}, periodSeconds: 1, timeoutSeconds: 30, failureThreshold: 1}
    volumeMounts: [{name: v, mountPath: /v}]
    resources: {limits: {memory: 64Mi}}
  volumes: [{name: v, emptyDir: {}}]
`)
	c.await("pod", "to run", func(pod *v1.Pod) bool { return pod.Status.Phase == v1.PodRunning && !isReady(pod) })
	c.kubectl("exec", "pod", "--", "touch", "/v/ready")
	c.awaitReady("pod")
	c.kubectl("exec", "pod", "--", "rm", "/v/ready")
	c.await("pod", "to be not ready", func(pod *v1.Pod) bool { return !isReady(pod) })
	c.kubectl("exec", "pod", "--", "touch", "/v/sick")
	c.await("pod", "to be restarted", func(pod *v1.Pod) bool { return pod.Status.ContainerStatuses[0].RestartCount == 1 })
	event := c.awaitEvent("pod", v1.EventTypeNormal, "Killing")
	if diff := cmp.Diff("Container main failed liveness probe, will be restarted", event.Message); diff != "" {
		t.Errorf("event (-want +got):\n%s", diff)
	}
}

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
  - name: main
    image: TOOLBOX
    command: [sh, -c, "while [ ! -e /v/go ]; do sleep 0.05; done; rm /v/go; exit 42"]
    restartPolicy: Never
    restartPolicyRules: [{action: RestartAllContainers, exitCodes: {operator: In, values: [42]}}]
    volumeMounts: [{name: v, mountPath: /v}]
    resources: {limits: {memory: 64Mi}}
  - {name: other, image: TOOLBOX, command: [sleep, --on-term, "0", "3600"], volumeMounts: [{name: v, mountPath: /v}], resources: {limits: {memory: 64Mi}}}
  volumes: [{name: v, emptyDir: {}}]
`)
	before := c.awaitReady("pod")
	c.kubectl("exec", "pod", "--container=other", "--", "touch", "/v/go")
	c.await("pod", "to restart everything", func(pod *v1.Pod) bool {
		return conditionOf(pod, v1.AllContainersRestarting).Status == v1.ConditionTrue
	})
	after := c.await("pod", "to run again", func(pod *v1.Pod) bool {
		s := pod.Status.ContainerStatuses
		return isReady(pod) && s[0].RestartCount == 1 && s[1].RestartCount == 1 &&
			conditionOf(pod, v1.AllContainersRestarting).Status == v1.ConditionFalse
	})
	if diff := cmp.Diff(before.Status.PodIPs, after.Status.PodIPs); diff != "" {
		t.Errorf("addresses (-want +got):\n%s", diff)
	}
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
  - name: main
    image: TOOLBOX
    command: [sleep, --on-term, "0", "3600"]
    resizePolicy: [{resourceName: memory, restartPolicy: RestartContainer}]
    resources: {requests: {cpu: 1m, memory: 32Mi}, limits: {cpu: 100m, memory: 64Mi}}
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
			return s.RestartCount == resize.restarts && s.Resources != nil && isReady(pod) && pod.Status.ObservedGeneration == pod.Generation &&
				conditionOf(pod, v1.PodResizeInProgress).Status == "" &&
				s.Resources.Limits.Cpu().Cmp(*wanted.Limits.Cpu()) == 0 && s.Resources.Limits.Memory().Cmp(*wanted.Limits.Memory()) == 0
		})
	}
	after := c.awaitReady("pod")
	if diff := cmp.Diff(before.Status.PodIP, after.Status.PodIP); diff != "" {
		t.Errorf("address (-want +got):\n%s", diff)
	}
	c.awaitEvent("pod", v1.EventTypeNormal, "ResizeCompleted")
}
