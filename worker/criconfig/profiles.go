package criconfig

import (
	"errors"
	"fmt"
	"path/filepath"

	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/utils/ptr"

	"github.com/lifepod/lifepod/lifecycle"
)

// seccomp converts a container's effective seccomp profile (A-SEC-4).
func seccomp(node Node, profile *v1.SeccompProfile) (*runtimeapi.SecurityProfile, error) {
	kind := v1.SeccompProfileTypeUnconfined
	switch {
	case profile != nil:
		kind = profile.Type
	case node.Seccomp.Default:
		kind = v1.SeccompProfileTypeRuntimeDefault
	}
	switch kind {
	case v1.SeccompProfileTypeRuntimeDefault:
		return &runtimeapi.SecurityProfile{ProfileType: runtimeapi.SecurityProfile_RuntimeDefault}, nil
	case v1.SeccompProfileTypeLocalhost:
		name := ptr.Deref(profile.LocalhostProfile, "")
		if name == "" {
			return nil, errors.New("localhostProfile must be set if seccompProfile type is Localhost.") //nolint:staticcheck // Kubernetes' text
		}
		return &runtimeapi.SecurityProfile{ProfileType: runtimeapi.SecurityProfile_Localhost, LocalhostRef: filepath.Join(node.Seccomp.Root, name)}, nil
	}
	return &runtimeapi.SecurityProfile{ProfileType: runtimeapi.SecurityProfile_Unconfined}, nil
}

// appArmor finds a container's AppArmor profile: its field, the legacy
// annotation, the pod's field. It is sent in the new form and the legacy one,
// which older runtimes read.
func appArmor(pod *v1.Pod, container *v1.Container) (*runtimeapi.SecurityProfile, string, error) {
	profile := lifecycle.AppArmorProfile(pod, container)
	if profile == nil {
		return nil, "", nil
	}
	switch profile.Type {
	case v1.AppArmorProfileTypeRuntimeDefault:
		return &runtimeapi.SecurityProfile{ProfileType: runtimeapi.SecurityProfile_RuntimeDefault}, v1.DeprecatedAppArmorBetaProfileRuntimeDefault, nil
	case v1.AppArmorProfileTypeUnconfined:
		return &runtimeapi.SecurityProfile{ProfileType: runtimeapi.SecurityProfile_Unconfined}, v1.DeprecatedAppArmorBetaProfileNameUnconfined, nil
	case v1.AppArmorProfileTypeLocalhost:
		if profile.LocalhostProfile == nil {
			return nil, "", errors.New("missing localhost apparmor profile name")
		}
		name := *profile.LocalhostProfile
		return &runtimeapi.SecurityProfile{ProfileType: runtimeapi.SecurityProfile_Localhost, LocalhostRef: name}, v1.DeprecatedAppArmorBetaProfileNamePrefix + name, nil
	}
	return nil, "", fmt.Errorf("unknown apparmor profile type: %q", profile.Type)
}
