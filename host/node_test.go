package host

import (
	"os"
	"path/filepath"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/cri"
	"github.com/lifepod/lifepod/roster/admit"
)

func TestAppArmorEnabled(t *testing.T) {
	for name, tc := range map[string]struct {
		parameter string
		mounted   bool
		want      bool
	}{
		"enabled": {"Y\n", true, true}, "disabled": {"N\n", true, false}, "not mounted": {"Y\n", false, false}, "not built in": {"", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			sys := t.TempDir()
			if tc.parameter != "" {
				dir := filepath.Join(sys, "module/apparmor/parameters")
				if err := os.MkdirAll(dir, 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(dir, "enabled"), []byte(tc.parameter), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if tc.mounted {
				if err := os.MkdirAll(filepath.Join(sys, "kernel/security/apparmor"), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			if got := appArmorEnabled(sys); got != tc.want {
				t.Errorf("enabled = %v, want %v", got, tc.want)
			}
		})
	}
}

func TestAdmits(t *testing.T) {
	host, err := Admits([]string{"net.core.*"}, cri.Features{SupplementalGroupsPolicy: true})
	if err != nil || !host.SupplementalGroupsPolicy {
		t.Fatal(host, err)
	}
	for _, name := range []string{"kernel.shm_rmid_forced", "net.ipv4.tcp_wmem", "net.core.somaxconn"} {
		pod := &v1.Pod{Spec: v1.PodSpec{SecurityContext: &v1.PodSecurityContext{Sysctls: []v1.Sysctl{{Name: name, Value: "1"}}}}}
		if refusal := admit.CheckBeforeFit(pod, host); refusal != nil {
			t.Errorf("A-ADM-6 on this machine: %v", refusal)
		}
	}
	if _, err := Admits([]string{"vm.swappiness"}, cri.Features{}); err == nil {
		t.Error("a sysctl of the whole machine was allowed")
	}
}
