package host

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/cri"
	"github.com/lifepod/lifepod/roster/admit"
	"github.com/lifepod/lifepod/worker/criconfig"
)

// Admits is what this machine and its runtime enforce, but for its resources; unsafeSysctls are the patterns that the
// node's owner allows.
func Admits(unsafeSysctls []string, features cri.Features) (admit.Host, error) {
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		return admit.Host{}, fmt.Errorf("read the kernel's version: %w", err)
	}
	sysctls, err := admit.AllowSysctls(unix.ByteSliceToString(name.Release[:]), unsafeSysctls)
	if err != nil {
		return admit.Host{}, err
	}
	return admit.Host{
		Allocatable:              v1.ResourceList{},
		SupplementalGroupsPolicy: features.SupplementalGroupsPolicy,
		AppArmor:                 appArmorEnabled("/sys"),
		SELinux:                  criconfig.SELinuxEnabled(),
		Sysctls:                  sysctls,
	}, nil
}

func appArmorEnabled(sys string) bool {
	text, err := os.ReadFile(sys + "/module/apparmor/parameters/enabled")
	if err != nil || len(text) == 0 || text[0] != 'Y' {
		return false
	}
	_, err = os.Stat(sys + "/kernel/security/apparmor")
	return err == nil
}
