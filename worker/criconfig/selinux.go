package criconfig

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/moby/sys/mountinfo"
	"github.com/opencontainers/selinux/go-selinux"
	"github.com/opencontainers/selinux/go-selinux/label"
	v1 "k8s.io/api/core/v1"
)

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
