package admit

import (
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/internal/assert"
)

func TestSysctls(t *testing.T) {
	tests := []struct {
		name     string
		kernel   string
		unsafe   []string
		sysctl   string
		pod      v1.PodSpec
		wantText string
	}{
		{name: "safe", kernel: "6.1", sysctl: "kernel.shm_rmid_forced"},
		{name: "safe, with slashes", kernel: "6.1", sysctl: "net/ipv4/tcp_syncookies"},
		{name: "safe by the kernel's version", kernel: "4.15.0-99-generic", sysctl: "net.ipv4.tcp_rmem"},
		{name: "the kernel is too old", kernel: "4.14.1", sysctl: "net.ipv4.tcp_rmem", wantText: `"net.ipv4.tcp_rmem" not allowlisted`},
		{name: "an unknown kernel", kernel: "?", sysctl: "net.ipv4.tcp_rmem", wantText: `"net.ipv4.tcp_rmem" not allowlisted`},
		{name: "slow start", kernel: "4.15", sysctl: "net.ipv4.tcp_slow_start_after_idle"},
		{name: "slow start, the kernel is too old", kernel: "4.14", sysctl: "net.ipv4.tcp_slow_start_after_idle", wantText: `"net.ipv4.tcp_slow_start_after_idle" not allowlisted`},
		{name: "low-water mark", kernel: "4.6", sysctl: "net.ipv4.tcp_notsent_lowat"},
		{name: "unsafe", kernel: "6.1", sysctl: "net.core.somaxconn", wantText: `"net.core.somaxconn" not allowlisted`},
		{name: "allowed by name", kernel: "6.1", unsafe: []string{"net.core.somaxconn"}, sysctl: "net/core/somaxconn"},
		{name: "allowed by prefix", kernel: "6.1", unsafe: []string{"kernel.msg*"}, sysctl: "kernel.msgmax"},
		{name: "with the host's network", kernel: "6.1", sysctl: "net.ipv4.tcp_syncookies", pod: v1.PodSpec{HostNetwork: true}, wantText: `"net.ipv4.tcp_syncookies" not allowed with host Net enabled`},
		{name: "with the host's IPC", kernel: "6.1", unsafe: []string{"kernel.msg*"}, sysctl: "kernel.msgmax", pod: v1.PodSpec{HostIPC: true}, wantText: `"kernel.msgmax" not allowed with host IPC enabled`},
		{name: "of the host's users", kernel: "6.1", unsafe: []string{"user.*"}, sysctl: "user.max_net_namespaces", wantText: `"user.max_net_namespaces" not allowed with host User enabled`},
		{name: "of the pod's own users", kernel: "6.1", unsafe: []string{"user.*"}, sysctl: "user.max_net_namespaces", pod: v1.PodSpec{HostUsers: new(false)}},
		{name: "the other namespace is the host's", kernel: "6.1", sysctl: "net.ipv4.tcp_syncookies", pod: v1.PodSpec{HostIPC: true}},
	}
	for _, tc := range tests {
		t.Run("A-ADM-6 "+tc.name, func(t *testing.T) {
			allowed := assert.Get(AllowSysctls(tc.kernel, tc.unsafe)).Must(t)
			assert.Error(t, tc.wantText, allowed.check(tc.sysctl, &tc.pod))
		})
	}
}

func TestSysctlValues(t *testing.T) {
	for value, taken := range map[string]bool{
		"1": true, "": true, "32768\t60999\n": true, "8080,9148": true, "0 2147483647": true,
		"1\x00": false, "1\n2": false, "1\n\n": false, "1\r": false, "\x1b[2J": false, "1\x7f": false, "\u0085": false,
	} {
		err := checkValue(value)
		assert.True(t, (err == nil) == taken, "A-ADM-6 value %q: %v", value, err)
	}
}

func TestAllowSysctlsRefusesPatterns(t *testing.T) {
	for pattern, want := range map[string]string{
		"vm.swappiness":          "the whole machine's",
		"kernel.*":               "the whole machine's",
		"net core":               "want a name",
		"*net":                   "want a name",
		strings.Repeat("n", 254): "want a name",
		"":                       "want a name",
	} {
		assert.ErrorContains(t, want, assert.ErrorOf(AllowSysctls("6.1", []string{pattern})), "A-ADM-6 pattern ", pattern)
	}
}
