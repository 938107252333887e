package register

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/google/cadvisor/lib/utils/sysfs"
	"github.com/google/cadvisor/lib/utils/sysinfo"
	"github.com/moby/sys/userns"
	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"
	"k8s.io/utils/cpuset"
)

// Machine is what a Node says of its machine. It is read once, as with the
// kubelet: more memory or a larger disk is seen after a restart of the agent.
type Machine struct {
	// CPUs are those online.
	CPUs         cpuset.CPUSet
	MemoryBytes  int64
	SwapBytes    int64
	StorageBytes int64
	HugePages    []HugePages

	MachineID, SystemUUID, BootID string
	Kernel, OSImage               string
	InUserNamespace               bool // lifepod's root is not the machine's

	// Annotations are those of its Node, beside those that each has.
	Annotations map[string]string
}

// HugePages are those of one size.
type HugePages struct {
	PageBytes, Count int64
}

// ReadMachine reads the machine's facts; rootDir is the folder whose filesystem
// is the ephemeral storage.
func ReadMachine(rootDir string) (Machine, error) { return readMachine("/", rootDir) }

// readMachine is ReadMachine with another root of /proc, /sys and /etc.
func readMachine(root, rootDir string) (Machine, error) {
	m := Machine{
		MachineID: firstLineOf(root, "etc/machine-id", "var/lib/dbus/machine-id"),
		BootID:    firstLineOf(root, "proc/sys/kernel/random/boot_id"),
		SystemUUID: firstLineOf(root, "sys/class/dmi/id/product_uuid", "proc/device-tree/system-id",
			"proc/device-tree/vm,uuid", "etc/machine-id"),
		OSImage: osImage(root),
		Kernel:  kernelRelease(),

		InUserNamespace: userns.RunningInUserNS(),
	}
	var err error
	if m.CPUs, err = onlineCPUs(root); err != nil {
		return Machine{}, err
	}
	if m.MemoryBytes, m.SwapBytes, err = memory(root); err != nil {
		return Machine{}, err
	}
	if m.HugePages, err = hugePages(root); err != nil {
		return Machine{}, err
	}
	var fs unix.Statfs_t
	if err := unix.Statfs(rootDir, &fs); err != nil {
		return Machine{}, fmt.Errorf("read the size of the filesystem of %q: %w", rootDir, err)
	}
	m.StorageBytes = int64(fs.Blocks) * fs.Frsize
	return m, nil
}

// firstLineOf is the text of the first of some files that there is.
func firstLineOf(root string, files ...string) string {
	for _, file := range files {
		if text, err := os.ReadFile(filepath.Join(root, file)); err == nil {
			return strings.TrimSpace(strings.TrimRight(string(text), "\x00"))
		}
	}
	return ""
}

func onlineCPUs(root string) (cpuset.CPUSet, error) {
	file := filepath.Join(root, "sys/devices/system/cpu/online")
	text, err := os.ReadFile(file)
	if err != nil {
		return cpuset.CPUSet{}, fmt.Errorf("read the CPUs that are online: %w", err)
	}
	cpus, err := cpuset.Parse(strings.TrimSpace(string(text)))
	if err != nil {
		return cpuset.CPUSet{}, fmt.Errorf("read the CPUs that are online from %s: %w", file, err)
	}
	return cpus, nil
}

func memory(root string) (total, swap int64, err error) {
	proc, err := procfs.NewFS(filepath.Join(root, "proc"))
	if err != nil {
		return 0, 0, fmt.Errorf("read the memory's size: %w", err)
	}
	info, err := proc.Meminfo()
	if err != nil {
		return 0, 0, fmt.Errorf("read the memory's size: %w", err)
	}
	if info.MemTotalBytes == nil {
		return 0, 0, fmt.Errorf("read the memory's size: meminfo has no MemTotal")
	}
	if info.SwapTotalBytes != nil {
		swap = int64(*info.SwapTotalBytes)
	}
	return int64(*info.MemTotalBytes), swap, nil
}

// hugePages are those of every size that the kernel knows, also if none is
// reserved: a Node lists them with 0.
func hugePages(root string) (out []HugePages, err error) {
	all, err := sysinfo.GetHugePagesInfo(sysfs.NewRealSysFs(), filepath.Join(root, "sys/kernel/mm/hugepages")+"/")
	for _, pages := range all {
		out = append(out, HugePages{PageBytes: int64(pages.PageSize) << 10, Count: int64(pages.NumPages)})
	}
	if err != nil {
		return nil, fmt.Errorf("read the huge pages: %w", err)
	}
	return out, nil
}

var prettyName = regexp.MustCompile(`(?m)^PRETTY_NAME=(.*)$`)

func osImage(root string) string {
	text := firstLineOf(root, "etc/os-release", "usr/lib/os-release")
	if text == "" {
		return "Unknown"
	}
	if match := prettyName.FindStringSubmatch(text); match != nil {
		return strings.Trim(match[1], `"`)
	}
	return "Linux"
}

func kernelRelease() string {
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		return "Unknown"
	}
	return unix.ByteSliceToString(name.Release[:])
}
