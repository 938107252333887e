package host

import (
	"os"
	"path/filepath"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/cri"
	"github.com/lifepod/lifepod/internal/assert"
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
				assert.Must(t, os.MkdirAll(dir, 0o755))
				assert.Must(t, os.WriteFile(filepath.Join(dir, "enabled"), []byte(tc.parameter), 0o600))
			}
			if tc.mounted {
				assert.Must(t, os.MkdirAll(filepath.Join(sys, "kernel/security/apparmor"), 0o755))
			}
			assert.Equal(t, tc.want, appArmorEnabled(sys), "enabled")
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
		refusal := admit.CheckBeforeFit(pod, host)
		assert.True(t, refusal == nil, "A-ADM-6 on this machine: %v", refusal)
	}
	assert.Fails(t, assert.ErrorOf(Admits([]string{"vm.swappiness"}, cri.Features{})), "a sysctl of the whole machine was allowed")
}
