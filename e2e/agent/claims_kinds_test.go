package agent

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/lifepod/lifepod/e2e/member"
	"github.com/lifepod/lifepod/internal/assert"
)

// fastGPUs is a pod that asks for devices as for an extended resource; nothing in it names a claim.
const fastGPUs = `
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: fast.DRIVER}
spec: {extendedResourceName: DRIVER/fast-gpu, selectors: [{cel: {expression: 'device.driver == "DRIVER"'}}]}
---
apiVersion: v1
kind: Pod
metadata: {name: pod}
spec:
  nodeSelector: {kubernetes.io/hostname: NODE}
  terminationGracePeriodSeconds: 1
  containers:
  - {name: fast, image: TOOLBOX, command: [sh, -c, "env | grep ^claim_; echo all; sleep 3600"], resources: {limits: {memory: 32Mi, DRIVER/fast-gpu: 1}}}
  - {name: also, image: TOOLBOX, command: [sh, -c, "env | grep ^claim_; echo all; sleep 3600"], resources: {limits: {memory: 32Mi, DRIVER/fast-gpu: 1}}}
  - {name: slow, image: TOOLBOX, command: [sh, -c, "env | grep ^claim_; echo all; sleep 3600"], resources: {limits: {memory: 32Mi}}}
`

// TestExtendedResourceOfClaims: a container has the devices that the scheduler has given it for
// an extended resource, by a claim that nobody wrote, and that ends with the pod (A-DRA-1, A-DRA-7).
func TestExtendedResourceOfClaims(t *testing.T) {
	t.Parallel()
	plane.Needs(t, "DRAExtendedResource")
	node := newNode(t, member.Config{})
	d := newDeviceDriver(t, node, "extended.example.com")
	t.Cleanup(func() { _, _ = plane.Kubectl(context.Background(), "", "delete", "deviceclass", "fast."+d.name) })
	c := newCluster(t, node)
	c.apply(strings.ReplaceAll(fastGPUs, "DRIVER", d.name))
	pod := c.awaitReady("pod")
	assert.True(t, pod.Status.ExtendedResourceClaimStatus != nil, "the scheduler has made no claim")
	for container, want := range map[string][]string{"fast": {"0_request_0"}, "also": {"1_request_0"}, "slow": nil} {
		c.awaitLine("pod", "all", "--container="+container)
		var got []string
		for line := range strings.Lines(c.kubectl("logs", "pod", "--container="+container)) {
			if variable, isSet := strings.CutSuffix(strings.TrimSpace(line), "=true"); isSet {
				_, request, _ := strings.Cut(variable, "container_") // claim_<claim>_container_0_request_0
				got = append(got, request)
			}
		}
		assert.True(t, slices.Equal(got, want), "container %s has the devices of the requests %v, want %v", container, got, want)
	}
	d.wantPrepared(2)
	c.delete("pod")
	d.wantPrepared(0)
}

const adminClaim = `
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: all}
spec: {devices: {requests: [{name: one, exactly: {deviceClassName: DRIVER, allocationMode: All, adminAccess: true}}]}}
`

// TestAdminAccess: a pod of an administrator has all devices of the node beside the pods that use
// them; each gives back its own (A-DRA-3, A-DRA-8).
func TestAdminAccess(t *testing.T) {
	t.Parallel()
	node := newNode(t, member.Config{})
	d := newDeviceDriver(t, node, "admin.example.com")
	c := newCluster(t, node)
	c.kubectl("label", "namespace", c.namespace, "resource.kubernetes.io/admin-access=true")
	c.apply(strings.ReplaceAll(sharedClaim+"---"+adminClaim, "DRIVER", d.name))
	c.create(strings.ReplaceAll(userOfClaim, "NAME", "user"))
	c.awaitReady("user")
	c.create(strings.NewReplacer("NAME", "admin", "resourceClaimName: gpu", "resourceClaimName: all").Replace(userOfClaim))
	c.awaitReady("admin")
	c.awaitLine("admin", "claim_all_one=true")
	d.wantPrepared(2)
	c.delete("user")
	d.wantPrepared(1)
	c.delete("admin")
	d.wantPrepared(0)
}
