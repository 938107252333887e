package volumes

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/lifepod/lifepod/lifecycle"
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
