package e2e

import (
	"os"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/internal/assert"
)

// TestRejected: what the machine can't keep isn't started at all, and the pod
// is Failed with the reason (A-ADM-2, A-ADM-3, A-ADM-4, A-ADM-6).
func TestRejected(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, spec, container string
		reason, message       string
	}{
		{
			name: "unsafe-sysctl", spec: "securityContext: {sysctls: [{name: net/core/somaxconn, value: '1'}]}",
			reason: "SysctlForbidden", message: `forbidden sysctl: "net.core.somaxconn" not allowlisted`,
		},
		{
			name: "sysctl-nul", spec: `securityContext: {sysctls: [{name: net.ipv4.ip_unprivileged_port_start, value: "0\0/etc/canary\0x"}]}`,
			reason:  "SysctlForbidden",
			message: `forbidden sysctl: "net.ipv4.ip_unprivileged_port_start": spec.securityContext.sysctls[0].value: control character U+0000`,
		},
		{
			name: "cpu", container: "resources: {requests: {cpu: 100k}}",
			reason: "OutOfcpu", message: "Node didn't have enough resource: cpu, requested: 100000000, used: 0, capacity: ",
		},
		{
			name: "memory", container: "resources: {requests: {memory: 1Pi}}",
			reason: "OutOfmemory", message: "Node didn't have enough resource: memory, requested: 1125899906842624, used: 0, capacity: ",
		},
		{
			name: "huge-pages", container: "resources: {limits: {memory: 64Mi, hugepages-1Gi: 1Ti}}",
			reason: "OutOfhugepages-1Gi", message: "Node didn't have enough resource: hugepages-1Gi, requested: 1099511627776, used: 0, capacity: ",
		},
	}
	if _, err := os.Stat("/sys/kernel/security/apparmor"); err != nil { // else it is enforced
		tests = append(tests, tests[0])
		last := &tests[len(tests)-1]
		last.name, last.spec = "apparmor", "securityContext: {appArmorProfile: {type: RuntimeDefault}}"
		last.reason, last.message = "AppArmor", "Cannot enforce AppArmor: AppArmor is not enabled on the host"
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			result := shared.runStory(t, 125, pod("rejected-"+tc.name, "restartPolicy: Never\n"+tc.spec+"\ncontainers:\n"+shell("main", "echo ran", tc.container)))
			last := result.last(t)
			assert.True(t, last.Phase == v1.PodFailed && last.Reason == tc.reason && strings.HasPrefix(last.Message, "Pod was rejected: "+tc.message),
				"A-ADM-2 phase %s, reason %q, message %q", last.Phase, last.Reason, last.Message)
			assert.True(t, len(last.ContainerStatuses) == 0 && last.PodIP == "" && result.output("main") == "",
				"A-ADM-2 something was started: %v", last)
			assert.True(t, len(last.Conditions) == 1 && last.Conditions[0].Type == v1.PodScheduled, "A-ADM-3 conditions %v", last.Conditions)
			assert.True(t, slices.ContainsFunc(result, func(o object) bool {
				return o.Type == "event" && o.Reason == tc.reason && strings.HasPrefix(o.Message, tc.message)
			}), "A-ADM-2 no event %s", tc.reason)
		})
	}
}

// TestSysctls: safe sysctls are set, unsafe ones if the flag allows them, in
// either form of their names (A-ADM-6, A-CRI-4).
func TestSysctls(t *testing.T) {
	t.Parallel()
	got := shared.run(t, pod("sysctls", `
restartPolicy: Never
securityContext:
  sysctls:
  - {name: net/ipv4/ip_unprivileged_port_start, value: "80"}
  - {name: kernel.shm_rmid_forced, value: "1"}
  - {name: net.core.somaxconn, value: "77"}
containers:
`+shell("main", "cat /proc/sys/net/ipv4/ip_unprivileged_port_start /proc/sys/kernel/shm_rmid_forced /proc/sys/net/core/somaxconn")),
		"--allowed-unsafe-sysctls", "net.core.*")
	got.want(t, 0, "80\n1\n77\n")
}

// TestUnsafeSysctlPattern: a pattern that no pod can have is told at once.
func TestUnsafeSysctlPattern(t *testing.T) {
	t.Parallel()
	got := shared.run(t, script("pattern", "true"), "--allowed-unsafe-sysctls", "vm.swappiness")
	assert.True(t, got.code == 125 && strings.Contains(got.stderr, `sysctl "vm.swappiness" is the whole machine's`),
		"A-ADM-6 exit code %d: %s", got.code, got.stderr)
}
