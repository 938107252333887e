package volumes

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/worker/podcgroup"
)

// hugePagesDir mounts a hugetlbfs at dir unless there is one. Without an fsGroup only
// root writes to it, as Kubernetes leaves it.
func (p preparer) hugePagesDir(dir string, medium v1.StorageMedium) error {
	size, err := hugePageSize(p.pod, medium)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return err
	}
	is, err := isMountPoint(dir)
	if err != nil {
		return err
	}
	if !is {
		if err := unix.Mount("nodev", dir, "hugetlbfs", 0, fmt.Sprintf("pagesize=%d", size.Value())); err != nil {
			return fmt.Errorf("mount hugetlbfs at %s: %w", dir, err)
		}
	}
	if group := p.fsGroup(); group != nil && !ownedBy(dir, *group) { // the mount takes no setgid bit
		return own(dir, group, false)
	}
	return nil
}

// hugePageSize is the size of the pages of a medium: the one that it names, or
// the only one that the pod requests.
func hugePageSize(pod *v1.Pod, medium v1.StorageMedium) (size resource.Quantity, err error) {
	named := strings.TrimPrefix(string(medium), string(v1.StorageMediumHugePagesPrefix))
	found := false
	for _, requests := range requestsOf(pod) {
		for name := range requests {
			text, isHugePages := strings.CutPrefix(string(name), v1.ResourceHugePagesPrefix)
			if !isHugePages || medium != v1.StorageMediumHugePages && text != named {
				continue
			}
			requested, err := resource.ParseQuantity(text)
			if err != nil {
				return size, fmt.Errorf("page size of %s: %w", name, err)
			}
			if found && requested.Cmp(size) != 0 {
				return size, fmt.Errorf("medium: %s can't be used if container requests multiple huge page sizes", medium)
			}
			size, found = requested, true
		}
	}
	if !found {
		return size, fmt.Errorf("medium %s: hugePages storage requested, but there is no resource request for huge pages", medium)
	}
	return size, nil
}

func requestsOf(pod *v1.Pod) []v1.ResourceList {
	var lists []v1.ResourceList
	if pod.Spec.Resources != nil {
		lists = append(lists, pod.Spec.Resources.Requests)
	}
	for _, c := range lifecycle.AllContainers(pod) {
		lists = append(lists, c.Resources.Requests)
	}
	return lists
}

// emptyDir makes an emptyDir volume. One that is there is left alone, with what
// containers have put into it: it lives as long as the pod.
func (p preparer) emptyDir(dir string, source *v1.EmptyDirVolumeSource) error {
	if source == nil {
		source = &v1.EmptyDirVolumeSource{}
	}
	switch source.Medium {
	case v1.StorageMediumDefault:
		return p.diskDir(dir)
	case v1.StorageMediumMemory:
		return p.memoryDir(dir, p.memorySize(source))
	}
	if source.Medium == v1.StorageMediumHugePages || strings.HasPrefix(string(source.Medium), string(v1.StorageMediumHugePagesPrefix)) {
		return p.hugePagesDir(dir, source.Medium)
	}
	return fmt.Errorf("unknown storage medium %q", source.Medium)
}

// diskDir makes a folder on disk, for everyone or for the pod's fsGroup.
func (p preparer) diskDir(dir string) error { return newDiskDir(dir, p.fsGroup()) }

// newDiskDir makes a folder for everyone under a name of its own and renames it,
// so that a folder of the right name is one with the right owner and mode. One
// that is there, or that somebody else makes meanwhile, is left alone.
func newDiskDir(dir string, group *int64) error {
	if _, err := os.Lstat(dir); err == nil {
		return nil
	}
	parent := filepath.Dir(dir)
	if err := os.MkdirAll(parent, 0o750); err != nil {
		return err
	}
	unfinished, err := os.MkdirTemp(parent, ".unfinished-")
	if err != nil {
		return err
	}
	err = openToAll(unfinished, group)
	if err == nil {
		err = unix.Renameat2(unix.AT_FDCWD, unfinished, unix.AT_FDCWD, dir, unix.RENAME_NOREPLACE)
	}
	if err == nil {
		return nil
	}
	if errors.Is(err, unix.EEXIST) {
		return os.Remove(unfinished)
	}
	return errors.Join(fmt.Errorf("make %s: %w", dir, err), os.Remove(unfinished))
}

// openToAll gives a new folder the mode 0777 and, with an fsGroup, that group
// for everything in it.
func openToAll(dir string, group *int64) error {
	if err := os.Chmod(dir, 0o777); err != nil {
		return err
	}
	return own(dir, group, false)
}

// memorySize is the size of an emptyDir in memory: the smallest of its own limit,
// the pod's, and what the node has; 0 leaves the kernel's default.
func (p preparer) memorySize(source *v1.EmptyDirVolumeSource) int64 {
	size := p.sources.Allocatable.Memory().Value()
	if pod := podcgroup.ResourcesOf(p.pod, podcgroup.CPULimits{}).MemoryLimit; pod > 0 && (size == 0 || pod < size) {
		size = pod
	}
	if own := source.SizeLimit; own != nil && own.Sign() > 0 && (size == 0 || own.Value() < size) {
		size = own.Value()
	}
	return size
}

// memoryDir mounts a tmpfs at dir unless there is one, with the mode that the kernel
// gives it, for everyone and with the sticky bit; fsGroup adds to that.
func (p preparer) memoryDir(dir string, size int64) error {
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return err
	}
	if is, err := isMountPoint(dir); is || err != nil {
		return err
	}
	options := "mode=1777"
	if group := p.fsGroup(); group != nil {
		options = fmt.Sprintf("mode=3777,gid=%d", *group)
	}
	if size > 0 {
		options += fmt.Sprintf(",size=%d", size)
	}
	err := unix.Mount("tmpfs", dir, "tmpfs", 0, options+",noswap")
	if errors.Is(err, unix.EINVAL) {
		// Kernels before 6.3 do not know noswap.
		err = unix.Mount("tmpfs", dir, "tmpfs", 0, options)
	}
	if err != nil {
		return fmt.Errorf("mount tmpfs at %s: %w", dir, err)
	}
	return nil
}

// isMountPoint says whether a file system of its own is mounted at dir.
func isMountPoint(dir string) (bool, error) {
	var own, parent unix.Stat_t
	if err := errors.Join(unix.Lstat(dir, &own), unix.Lstat(filepath.Dir(dir), &parent)); err != nil {
		return false, &fs.PathError{Op: "lstat", Path: dir, Err: err}
	}
	return own.Dev != parent.Dev, nil
}
