package member

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/lifepod/lifepod/e2e/machine"
)

// kubeletDir is the kubelet's own folder in the state folder. It is a mount: the
// kubelet makes it one and leaves it.
const kubeletDir = "kubelet"

func (m *Member) isKubelet() bool { return filepath.Base(m.config.Program) == "kubelet" }

// likeKubelet says whether the node's files and cgroups are where a kubelet has them.
func (m *Member) likeKubelet() bool {
	return m.isKubelet() || m.config.Kubelet["containerRuntimeEndpoint"] != nil
}

// leftOfPods is what the pods have on the machine. A kubelet's runtime and cgroups
// are not in the state folder; the mounts are. It removes the rest when it has time.
func (m *Member) leftOfPods() []string {
	if !m.likeKubelet() {
		return m.Root.LeftOfPods()
	}
	own := "mount " + m.file(kubeletDir)
	left := slices.DeleteFunc(m.Root.Mounts(), func(mount string) bool { return mount == own })
	if m.isKubelet() {
		return left
	}
	for _, pattern := range []string{
		m.file(kubeletDir + "/pods/*"), m.file("logs/*"),
		"/sys/fs/cgroup/" + m.kubeletCgroup() + "/kubepods/pod*", "/sys/fs/cgroup/" + m.kubeletCgroup() + "/kubepods/*/pod*", // v2
		"/sys/fs/cgroup/*/" + m.kubeletCgroup() + "/kubepods/pod*", "/sys/fs/cgroup/*/" + m.kubeletCgroup() + "/kubepods/*/pod*", // v1
	} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			panic(err) // the patterns are right
		}
		left = append(left, found...)
	}
	return left
}

// left is what the node has left on the machine. A kubelet leaves logs and, in the
// runtime, addresses: that is not what tests look for.
func (m *Member) left() []string {
	if m.isKubelet() {
		return append(m.Root.Processes(), m.Root.Mounts()...)
	}
	return m.Root.Left()
}

// kubeletCgroup is the cgroup in which the kubelet has its kubepods: one of its own,
// so that it meets no other kubelet's.
func (m *Member) kubeletCgroup() string { return m.Root.Cgroup() }

// makeKubeletCgroup makes it in each hierarchy: the kubelet wants to find it.
func (m *Member) makeKubeletCgroup() error {
	hierarchies, err := hierarchies()
	if err != nil {
		return err
	}
	for _, hierarchy := range hierarchies {
		if err := os.MkdirAll(filepath.Join(hierarchy, m.kubeletCgroup()), 0o755); err != nil {
			return fmt.Errorf("make the kubelet's cgroup: %w", err)
		}
	}
	return nil
}

// hierarchies is the one of cgroup v2, or each of v1.
func hierarchies() ([]string, error) {
	const root = "/sys/fs/cgroup"
	if _, err := os.Stat(filepath.Join(root, "cgroup.controllers")); err == nil {
		return []string{root}, nil
	}
	return folders(root)
}

// folders are those in dir; of one that is gone, none.
func folders(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	var found []string
	for _, entry := range entries {
		if entry.IsDir() { // cgroup v1 has links beside them, second names
			found = append(found, filepath.Join(dir, entry.Name()))
		}
	}
	return found, err
}

// sweepKubelet removes what every kubelet leaves when it ends.
func (m *Member) sweepKubelet() error {
	var errs []error
	if err := unix.Unmount(m.file(kubeletDir), unix.MNT_DETACH); err != nil && !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOENT) {
		errs = append(errs, fmt.Errorf("unmount the kubelet's folder: %w", err))
	}
	hierarchies, err := hierarchies()
	errs = append(errs, err)
	for _, hierarchy := range hierarchies {
		errs = append(errs, removeCgroups(filepath.Join(hierarchy, m.kubeletCgroup())))
	}
	machine.RemoveDeviceSocket()
	return errors.Join(errs...)
}

// removeCgroups removes a cgroup and those below it, all without processes.
func removeCgroups(parent string) error {
	below, err := folders(parent)
	if err != nil {
		return err
	}
	for _, folder := range below {
		if err := removeCgroups(folder); err != nil {
			return err
		}
	}
	if err := os.Remove(parent); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove the kubelet's cgroup: %w", err)
	}
	return nil
}
