package admission

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/worker/criconfig"
)

// Read finds out what the kernel enforces; unsafeSysctls are the patterns that
// the node's owner allows. Allocatable and what the runtime can do are the
// caller's to fill in.
func Read(unsafeSysctls []string) (Host, error) {
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		return Host{}, fmt.Errorf("read the kernel's version: %w", err)
	}
	sysctls, err := AllowSysctls(unix.ByteSliceToString(name.Release[:]), unsafeSysctls)
	if err != nil {
		return Host{}, err
	}
	return Host{
		Allocatable: v1.ResourceList{},
		AppArmor:    appArmorEnabled("/sys"),
		SELinux:     criconfig.SELinuxEnabled(),
		Sysctls:     sysctls,
	}, nil
}

func appArmorEnabled(sys string) bool {
	text, err := os.ReadFile(sys + "/module/apparmor/parameters/enabled")
	return err == nil && len(text) > 0 && text[0] == 'Y' && exists(sys+"/kernel/security/apparmor")
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
