package criconfig

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/moby/sys/mountinfo"
	"github.com/opencontainers/selinux/go-selinux"
	"github.com/opencontainers/selinux/go-selinux/label"
	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/utils/ptr"

	"github.com/lifepod/lifepod/lifecycle"
)

// ImageUser is whom an image says to run as. Kubernetes prefers the id; an
// image that names neither runs as root.
type ImageUser struct {
	UID  *int64
	Name string
}

var (
	maskedPaths = []string{
		"/proc/asound", "/proc/acpi", "/proc/interrupts", "/proc/kcore", "/proc/keys", "/proc/latency_stats",
		"/proc/timer_list", "/proc/timer_stats", "/proc/sched_debug", "/proc/scsi",
		"/sys/firmware", "/sys/devices/virtual/powercap",
	}
	readonlyPaths = []string{"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"}
)

// containerSecurity is a container's security context (A-SEC-1 to A-SEC-6).
func containerSecurity(in ContainerInput) (*runtimeapi.LinuxContainerSecurityContext, error) {
	sc, pod := effective(in.Pod, in.Container)
	out := &runtimeapi.LinuxContainerSecurityContext{
		Capabilities:             capabilities(sc.Capabilities),
		Privileged:               ptr.Deref(sc.Privileged, false),
		NamespaceOptions:         containerNamespaces(in),
		SelinuxOptions:           selinuxOptions(sc.SELinuxOptions),
		RunAsUser:                int64Value(sc.RunAsUser),
		RunAsGroup:               int64Value(sc.RunAsGroup),
		ReadonlyRootfs:           ptr.Deref(sc.ReadOnlyRootFilesystem, false),
		SupplementalGroups:       supplementalGroups(pod, in.VolumeGroups),
		SupplementalGroupsPolicy: supplementalGroupsPolicy(pod),
		NoNewPrivs:               !ptr.Deref(sc.AllowPrivilegeEscalation, true),
	}
	if out.RunAsUser == nil {
		out.RunAsUser, out.RunAsUsername = imageUser(in.ImageUser)
	}
	if ptr.Deref(sc.ProcMount, v1.DefaultProcMount) != v1.UnmaskedProcMount {
		out.MaskedPaths = slices.Concat(maskedPaths, in.Node.MaskedPaths)
		out.ReadonlyPaths = slices.Clone(readonlyPaths)
	}
	var err error
	if out.Seccomp, err = seccomp(in.Node, sc.SeccompProfile); err != nil {
		return nil, err
	}
	out.Apparmor, out.ApparmorProfile, err = appArmor(in.Pod, in.Container) //nolint:staticcheck // older runtimes read only the deprecated string
	return out, err
}

// effective merges the pod's fields into the container's, which win (A-SEC-1).
// Neither result is nil.
func effective(pod *v1.Pod, container *v1.Container) (*v1.SecurityContext, *v1.PodSecurityContext) {
	podSC := new(ptr.Deref(pod.Spec.SecurityContext, v1.PodSecurityContext{}))
	sc := new(ptr.Deref(container.SecurityContext, v1.SecurityContext{}))
	sc.SELinuxOptions = or(sc.SELinuxOptions, podSC.SELinuxOptions)
	sc.RunAsUser = or(sc.RunAsUser, podSC.RunAsUser)
	sc.RunAsGroup = or(sc.RunAsGroup, podSC.RunAsGroup)
	sc.RunAsNonRoot = or(sc.RunAsNonRoot, podSC.RunAsNonRoot)
	sc.SeccompProfile = or(sc.SeccompProfile, podSC.SeccompProfile)
	return sc, podSC
}

func or[T any](first, second *T) *T {
	if first != nil {
		return first
	}
	return second
}

func imageUser(user ImageUser) (*runtimeapi.Int64Value, string) {
	switch {
	case user.UID != nil:
		return &runtimeapi.Int64Value{Value: *user.UID}, ""
	case user.Name != "":
		return nil, user.Name
	}
	return &runtimeapi.Int64Value{}, ""
}

// verifyNonRoot enforces runAsNonRoot (A-SEC-2).
func verifyNonRoot(in ContainerInput) error {
	sc, _ := effective(in.Pod, in.Container)
	if !ptr.Deref(sc.RunAsNonRoot, false) {
		return nil
	}
	where := fmt.Sprintf("(pod: %q, container: %s)", lifecycle.PodText(in.Pod), in.Container.Name)
	if sc.RunAsUser != nil {
		if *sc.RunAsUser == 0 {
			return fmt.Errorf("container's runAsUser breaks non-root policy %s", where)
		}
		return nil
	}
	uid, name := imageUser(in.ImageUser)
	switch {
	case uid == nil:
		return fmt.Errorf("container has runAsNonRoot and image has non-numeric user (%s), cannot verify user is non-root %s", name, where)
	case uid.Value == 0:
		return fmt.Errorf("container has runAsNonRoot and image will run as root %s", where)
	case uid.Value < 0 || uid.Value > math.MaxInt32:
		return fmt.Errorf("container has runAsNonRoot and image has an invalid user id (%d). (Must be 1-(%d)): must be between 0 and 2147483647, inclusive %s", uid.Value, math.MaxInt32, where)
	}
	return nil
}

func containerNamespaces(in ContainerInput) *runtimeapi.NamespaceOption {
	out := namespaces(in.Pod, in.UserNamespace)
	if in.TargetContainerID != "" && out.Pid == runtimeapi.NamespaceMode_CONTAINER {
		out.Pid, out.TargetId = runtimeapi.NamespaceMode_TARGET, in.TargetContainerID
	}
	return out
}

// supplementalGroups are the owner of the pod's volumes, those of the pod, and those
// that its volumes name (A-SEC-3).
func supplementalGroups(sc *v1.PodSecurityContext, ofVolumes []int64) []int64 {
	var out []int64
	if sc.FSGroup != nil {
		out = append(out, *sc.FSGroup)
	}
	out = append(out, sc.SupplementalGroups...)
	for _, group := range ofVolumes {
		if !slices.Contains(sc.SupplementalGroups, group) {
			out = append(out, group)
		}
	}
	return out
}

func supplementalGroupsPolicy(sc *v1.PodSecurityContext) runtimeapi.SupplementalGroupsPolicy {
	if ptr.Deref(sc.SupplementalGroupsPolicy, "") == v1.SupplementalGroupsPolicyStrict {
		return runtimeapi.SupplementalGroupsPolicy_Strict
	}
	return runtimeapi.SupplementalGroupsPolicy_Merge
}

func capabilities(c *v1.Capabilities) *runtimeapi.Capability {
	if c == nil {
		return nil
	}
	names := func(list []v1.Capability) []string {
		out := make([]string, 0, len(list))
		for _, name := range list {
			out = append(out, string(name))
		}
		return out
	}
	return &runtimeapi.Capability{AddCapabilities: names(c.Add), DropCapabilities: names(c.Drop)}
}

func selinuxOptions(o *v1.SELinuxOptions) *runtimeapi.SELinuxOption {
	if o == nil {
		return nil
	}
	return &runtimeapi.SELinuxOption{User: o.User, Role: o.Role, Type: o.Type, Level: o.Level}
}

func int64Value(v *int64) *runtimeapi.Int64Value {
	if v == nil {
		return nil
	}
	return &runtimeapi.Int64Value{Value: *v}
}

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

// SELinuxEnabled says whether the kernel has SELinux and a policy.
func SELinuxEnabled() bool { return selinux.GetEnabled() }

// SELinuxLabels are those of this machine, which has SELinux enabled.
type SELinuxLabels struct{}

// FileLabel is the label of the files of a container with these options. What they leave out, the
// machine's policy says; without a level the label has one that nothing else has.
func (SELinuxLabels) FileLabel(options v1.SELinuxOptions) (string, error) {
	var given []string
	for _, option := range []struct{ name, value string }{
		{"user", options.User}, {"role", options.Role}, {"type", options.Type}, {"level", options.Level},
	} {
		if option.value != "" {
			given = append(given, option.name+":"+option.value)
		}
	}
	if len(given) == 0 {
		return "", nil
	}
	process, file, err := label.InitLabels(given)
	if err != nil {
		return "", err
	}
	selinux.ReleaseLabel(process) // else the library keeps its level for ever
	return file, nil
}

// Relabels says whether each file at a path can have a label of its own: its file system does not
// have one label for all files.
func (SELinuxLabels) Relabels(path string) (bool, error) {
	mounts, err := mountinfo.GetMounts(mountinfo.ParentsFilter(path))
	if err != nil {
		return false, fmt.Errorf("look for SELinux support of %s: %w", path, err)
	}
	return labelsEachFile(mounts), nil
}

// labelsEachFile is for the mounts that a path is below, in the order in which they were made.
func labelsEachFile(mounts []*mountinfo.Info) bool {
	slices.Reverse(mounts) // the last one at a path covers the others
	if len(mounts) == 0 {
		return false
	}
	of := slices.MaxFunc(mounts, func(a, b *mountinfo.Info) int { return cmp.Compare(len(a.Mountpoint), len(b.Mountpoint)) })
	return hasOption(of.Options) || hasOption(of.VFSOptions)
}

func hasOption(options string) bool {
	return slices.Contains(strings.Split(options, ","), "seclabel")
}

// Containers that speak for drivers may use the folders in which those register: they have this
// label, as with the kubelet.
const driversLabel = "system_u:object_r:container_file_t:s0"

// LetDriversIn labels a folder such that drivers in containers may use it.
func LetDriversIn(folder string) error {
	return selinux.SetFileLabel(folder, driversLabel)
}
