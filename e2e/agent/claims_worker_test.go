package agent

import (
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/e2e/member"
	"github.com/lifepod/lifepod/internal/assert"
)

// gpuWorker is examples/ml-worker.yaml with two GPUs: its watcher has all containers
// restarted in place when the job is stuck.
const gpuWorker = `
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: gpus}
spec: {spec: {devices: {requests: [{name: gpus, exactly: {deviceClassName: gpu.example.com, count: 2}}]}}}
---
apiVersion: v1
kind: Pod
metadata: {name: worker}
spec:
  nodeSelector: {kubernetes.io/hostname: NODE}
  restartPolicy: Never
  terminationGracePeriodSeconds: 1
  volumes: [{name: job, emptyDir: {}}]
  resourceClaims: [{name: gpus, resourceClaimTemplateName: gpus}]
  initContainers:
  - {name: setup, image: TOOLBOX, command: [sh, -c, "echo joining the job"], resources: {limits: {memory: 32Mi}}}
  - {name: watcher, image: TOOLBOX, restartPolicy: Always,
     restartPolicyRules: [{action: RestartAllContainers, exitCodes: {operator: In, values: [88]}}],
     command: [sh, -c, "until [ -e /job/stuck ]; do sleep 0.1; done; rm /job/stuck; exit 88"], volumeMounts: [{name: job, mountPath: /job}],
     resources: {limits: {memory: 32Mi}}}
  containers:
  - name: worker
    image: TOOLBOX
    command: [sh, -c, "env | grep GPU_DEVICE_; if [ -e /job/checkpoint ]; then echo going on from the checkpoint; sleep 3600; fi; touch /job/checkpoint; echo training from the beginning; sleep 3600"]
    volumeMounts: [{name: job, mountPath: /job}]
    resources: {claims: [{name: gpus}], limits: {memory: 32Mi}}
`

// TestGPUWorker: a pod with two GPUs of the driver dra-example-driver keeps them when all its
// containers are restarted in place, also by an agent that was killed in between; nothing is
// prepared again (A-DRA-2, A-DRA-7). The driver is killed as well: the pod does not end before
// it is back and has taken the devices back (A-DRA-9).
func TestGPUWorker(t *testing.T) {
	t.Parallel()
	plane.Needs(t, "RestartAllContainersOnContainerExits")
	node := newNode(t, member.Config{})
	d := newExampleDriver(t, node)
	c := newCluster(t, node)
	c.apply(gpuWorker)
	c.awaitReady("worker") // before it has a node, its log is an empty one
	devicesOf := func(line string) []string {
		t.Helper()
		c.awaitLine("worker", line, "--container=worker")
		var devices []string
		for line := range strings.Lines(c.kubectl("logs", "worker", "--container=worker")) {
			if strings.HasPrefix(line, "GPU_DEVICE_") {
				devices = append(devices, strings.TrimSpace(line))
			}
		}
		slices.Sort(devices)
		return devices
	}
	before := devicesOf("training from the beginning")
	gpus := 0
	for _, variable := range before {
		if _, device, _ := strings.Cut(variable, "="); strings.HasPrefix(device, "gpu-") {
			gpus++
		}
	}
	assert.True(t, gpus == 2, "the worker has the devices %v, want two", before)
	d.wantPrepared(1)
	restart(t, node)
	d.process.MarkLog()
	c.kubectl("exec", "worker", "--container=worker", "--", "touch", "/job/stuck")
	c.await("worker", "to have restarted", func(pod *v1.Pod) bool {
		status := statusOf(pod, "worker")
		return status.RestartCount == 1 && status.State.Running != nil
	})
	after := devicesOf("going on from the checkpoint")
	assert.True(t, slices.Equal(after, before), "the worker has the devices %v, and had %v before", after, before)
	assert.True(t, !strings.Contains(string(d.process.LogSinceMark()), "PrepareResourceClaims"),
		"the devices were prepared again:\n%s", d.process.LogSinceMark())
	assert.Must(t, d.process.Kill())
	c.beginDeletion("worker")
	c.await("worker", "to have no container that runs", func(pod *v1.Pod) bool { return statusOf(pod, "worker").State.Terminated != nil })
	restart(t, node)
	d.wantPrepared(1)
	d.run()
	assert.Must(t, c.untilGone(t.Context(), "worker"))
	d.wantPrepared(0)
}
