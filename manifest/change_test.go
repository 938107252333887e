package manifest

import (
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/lifepod/lifepod/internal/assert"
)

const runs = `
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  volumes: [{name: data, emptyDir: {}}]
  initContainers:
  - {name: setup, image: setup:1, resources: {limits: {cpu: 100m, memory: 32Mi}}}
  containers:
  - {name: main, image: app:1, resources: {limits: {cpu: 100m, memory: 64Mi}, requests: {cpu: 100m, memory: 64Mi}},
     resizePolicy: [{resourceName: memory, restartPolicy: RestartContainer}]}
`

func readPod(t *testing.T) *v1.Pod {
	t.Helper()
	set := assert.Get(Read([]Source{{Name: "pod.yaml", Data: []byte(runs)}}, Options{})).Must(t)
	assert.Empty(t, set.Warnings, "warnings")
	return set.Pod
}

// An ephemeral container gets the API's defaults and is refused as the API does it (A-ACT-5).
func TestWithEphemeralContainer(t *testing.T) {
	for _, test := range []struct{ name, container, want string }{
		{"fine", `{name: debug, image: "busybox:1", stdin: true, tty: true, targetContainerName: main, volumeMounts: [{name: data, mountPath: /data}]}`, ""},
		{"no name", `{image: x}`, `spec.ephemeralContainers[0].name: Required value`},
		{"no image", `{name: debug}`, `spec.ephemeralContainers[0].image: Required value`},
		{"taken", `{name: main, image: x}`, `spec.ephemeralContainers[0].name: Duplicate value: "main"`},
		{"taken by an init container", `{name: setup, image: x}`, `spec.ephemeralContainers[0].name: Duplicate value: "setup"`},
		{"unknown target", `{name: debug, image: x, targetContainerName: other}`, `spec.ephemeralContainers[0].targetContainerName: Not found: "other"`},
		{"port", `{name: debug, image: x, ports: [{containerPort: 80}]}`, `spec.ephemeralContainers[0].ports: Forbidden: cannot be set for an Ephemeral Container`},
		{"probe", `{name: debug, image: x, livenessProbe: {exec: {command: [x]}}}`, `spec.ephemeralContainers[0].livenessProbe: Forbidden: cannot be set for an Ephemeral Container`},
		{"image", `{name: debug, image: "${IMAGE}"}`, `spec.ephemeralContainers[0].image: couldn't parse image name "${IMAGE}"; this looks like a variable that was not replaced: pass on what is made of it, such as the output of envsubst`},
		{"hook", `{name: debug, image: x, lifecycle: {preStop: {exec: {command: [x]}}}}`, `spec.ephemeralContainers[0].lifecycle: Forbidden: cannot be set for an Ephemeral Container`},
		{"resources", `{name: debug, image: x, resources: {limits: {cpu: 1}}}`, `spec.ephemeralContainers[0].resources: Forbidden: cannot be set for an Ephemeral Container`},
		{"restart policy", `{name: debug, image: x, restartPolicy: Always}`, `spec.ephemeralContainers[0].restartPolicy: Forbidden: cannot be set for an Ephemeral Container`},
		{"subPath", `{name: debug, image: x, volumeMounts: [{name: data, mountPath: /data, subPath: a}]}`, `spec.ephemeralContainers[0].volumeMounts[0].subPath: Forbidden: cannot be set for an Ephemeral Container`},
		{"unknown volume", `{name: debug, image: x, volumeMounts: [{name: other, mountPath: /data}]}`, `spec.ephemeralContainers[0].volumeMounts[0].name: Not found: "other"`},
		{"not lifepod's", `{name: debug, image: x, volumeDevices: [{name: data, devicePath: /dev/x}]}`, `volumeDevices`},
	} {
		t.Run(test.name, func(t *testing.T) {
			pod := readPod(t)
			var c v1.EphemeralContainer
			assert.Must(t, yaml.UnmarshalStrict([]byte(test.container), &c))
			changed, err := WithEphemeralContainer(pod, c)
			if test.want != "" {
				assert.Require(t, err != nil && strings.Contains(err.Error(), test.want), "error %v, want %s", err, test.want)
				return
			}
			assert.Must(t, err)
			got := changed.Spec.EphemeralContainers[0]
			assert.True(t, got.ImagePullPolicy == v1.PullIfNotPresent && got.TerminationMessagePath == "/dev/termination-log",
				"no defaults: %+v", got)
			assert.True(t, changed.Generation == pod.Generation+1 && len(pod.Spec.EphemeralContainers) == 0,
				"generation %d after %d", changed.Generation, pod.Generation)
			assert.Fails(t, assert.ErrorOf(WithEphemeralContainer(changed, c)), "the same name again is accepted")
		})
	}
}

// Resources change as the API lets them (A-ACT-15, A-API-3).
func TestWithResources(t *testing.T) {
	for _, test := range []struct{ name, spec, want string }{
		{"cpu", `{containers: [{name: main, resources: {limits: {cpu: 200m}, requests: {cpu: 200m}}}]}`, ""},
		{"init", `{initContainers: [{name: setup, resources: {limits: {cpu: 200m}, requests: {cpu: 200m}}}]}`, ""},
		{"nothing", `{containers: [{name: main}]}`, ""},
		{"QoS class", `{containers: [{name: main, resources: {requests: {cpu: 50m}}}]}`, `Pod QOS Class may not change as a result of resizing`},
		{"request above limit", `{containers: [{name: main, resources: {requests: {cpu: 1}}}]}`, `spec.containers[0].resources.requests: Invalid value: "1": must be less than or equal to cpu limit of 100m`},
		{"other resource", `{containers: [{name: main, resources: {limits: {ephemeral-storage: 1Gi}}}]}`, `spec: Forbidden: only cpu and memory resources are mutable`},
		{"pod", `{resources: {limits: {cpu: 1, memory: 1Gi}, requests: {cpu: 1, memory: 1Gi}}}`, ""},
		{"pod, less than its containers", `{resources: {limits: {cpu: 50m, memory: 1Gi}, requests: {cpu: 50m, memory: 1Gi}}}`, `spec.resources.requests[cpu]: Invalid value: "50m": must be greater than or equal to aggregate container requests of 100m`},
		{"pod, other resource", `{resources: {limits: {hugepages-2Mi: 2Mi, cpu: 1, memory: 1Gi}, requests: {hugepages-2Mi: 2Mi, cpu: 1, memory: 1Gi}}}`, `only cpu and memory resources are mutable at pod-level`},
		{"unknown", `{containers: [{name: other, resources: {limits: {cpu: 1}}}]}`, `spec.containers[0].name: the Pod has no container "other" there`},
		{"negative", `{containers: [{name: main, resources: {limits: {cpu: -1}}}]}`, `spec.containers[0].resources.limits[cpu]: Invalid value: "-1": must be greater than or equal to 0`},
	} {
		t.Run(test.name, func(t *testing.T) {
			pod, requested := readPod(t), &v1.Pod{}
			assert.Must(t, yaml.UnmarshalStrict([]byte(test.spec), &requested.Spec))
			changed, err := WithResources(pod, requested)
			if test.want != "" {
				assert.Require(t, err != nil && strings.Contains(err.Error(), test.want), "error %v, want %s", err, test.want)
				return
			}
			assert.Must(t, err)
			want := pod.Generation
			if test.name != "nothing" {
				want++
			}
			assert.Equal(t, want, changed.Generation, "generation")
			assert.Deep(t, "the pod itself is changed", readPod(t).Spec, pod.Spec)
		})
	}
}
