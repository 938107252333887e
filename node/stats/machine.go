package stats

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"

	"github.com/lifepod/lifepod/cri"
)

// bootTime is when the machine was started.
func bootTime() (time.Time, error) {
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		return time.Time{}, fmt.Errorf("ask for the machine's uptime: %w", err)
	}
	return time.Now().Add(-time.Duration(info.Uptime) * time.Second), nil
}

// ram is the machine's memory and swap, in bytes.
type ram struct{ memory, swap, freeSwap uint64 }

// limitOf is what a cgroup without a limit of its own may use; / is the machine. Memory that huge pages hold is in no cgroup's usage,
// whether they are used or not: nobody else has it (B-EVI-1).
func (r ram) limitOf(cgroup, meminfo string) uint64 {
	if cgroup == "/" {
		return minus(r.memory, hugePages(meminfo))
	}
	return r.memory
}

func machineMemory() (ram, error) {
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		return ram{}, fmt.Errorf("ask for the machine's memory: %w", err)
	}
	unit := uint64(info.Unit)
	return ram{info.Totalram * unit, info.Totalswap * unit, info.Freeswap * unit}, nil
}

const meminfo = "/proc/meminfo"

// hugePages is how many bytes huge pages of all sizes hold; 0 on a kernel that has none, or does not tell.
func hugePages(meminfo string) uint64 {
	text, _ := os.ReadFile(meminfo)
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) > 1 && fields[0] == "Hugetlb:" {
			kib, _ := strconv.ParseUint(fields[1], 10, 64) // the kernel's own number
			return kib << 10
		}
	}
	return 0
}

// FileSystem is the state of the file system that a path is on.
func FileSystem(path string) (*statsapi.FsStats, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(path, &s); err != nil {
		return nil, fmt.Errorf("ask for the file system of %s: %w", path, err)
	}
	block := uint64(s.Bsize)
	return &statsapi.FsStats{
		Time:           metav1.Now(),
		AvailableBytes: new(s.Bavail * block),
		CapacityBytes:  new(s.Blocks * block),
		UsedBytes:      new((s.Blocks - s.Bfree) * block),
		InodesFree:     &s.Ffree,
		Inodes:         &s.Files,
		InodesUsed:     new(s.Files - s.Ffree),
	}, nil
}

// on is a use of the file system fs.
func on(fs *statsapi.FsStats, at time.Time, bytes, inodes uint64) *statsapi.FsStats {
	used := *fs
	used.Time, used.UsedBytes, used.InodesUsed = metav1.NewTime(at), &bytes, &inodes
	return &used
}

// Processes are how many processes there may be and are.
func Processes() (*statsapi.RlimitStats, error) {
	most, err := readNumber("/proc/sys/kernel/pid_max")
	if err != nil {
		return nil, err
	}
	if threads, err := readNumber("/proc/sys/kernel/threads-max"); err == nil {
		most = min(most, threads)
	}
	load, err := os.ReadFile("/proc/loadavg") // 0.2 0.3 0.4 running/all lastPID
	if err != nil {
		return nil, err
	}
	stats := &statsapi.RlimitStats{Time: metav1.Now(), MaxPID: &most}
	fields := strings.Fields(string(load))
	if len(fields) > 3 {
		_, all, _ := strings.Cut(fields[3], "/")
		if count, err := strconv.ParseInt(all, 10, 64); err == nil {
			stats.NumOfRunningProcesses = &count
		}
	}
	return stats, nil
}

func readNumber(path string) (int64, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
}

// network are the machine's interfaces, without loopback and the pods' own; the first figures are those of the one
// that the default route leads through.
func network() (*statsapi.NetworkStats, error) {
	proc, err := procfs.NewDefaultFS()
	var found procfs.NetDev
	if err == nil {
		found, err = proc.NetDev()
	}
	if err != nil {
		return nil, fmt.Errorf("read the machine's network interfaces: %w", err)
	}
	stats := &statsapi.NetworkStats{Time: metav1.Now()}
	first := defaultLink()
	for _, name := range slices.Sorted(maps.Keys(found)) {
		if name == "lo" || strings.HasPrefix(name, "veth") {
			continue
		}
		l := found[name]
		one := statsapi.InterfaceStats{Name: name, RxBytes: &l.RxBytes, RxErrors: &l.RxErrors, TxBytes: &l.TxBytes, TxErrors: &l.TxErrors}
		if name == first {
			stats.InterfaceStats = one
		}
		stats.Interfaces = append(stats.Interfaces, one)
	}
	return stats, nil
}

// defaultLink is the interface of the default route; the kubelet takes eth0 for it.
func defaultLink() string {
	routes, err := os.ReadFile("/proc/net/route")
	if err != nil {
		return "eth0"
	}
	for line := range strings.Lines(string(routes)) {
		if f := strings.Fields(line); len(f) > 7 && f[1] == "00000000" && f[7] == "00000000" {
			return f[0]
		}
	}
	return "eth0"
}

// deviceName is a block device's path, or its numbers if it has none.
func deviceName(major, minor uint64) string {
	numbers := fmt.Sprintf("%d:%d", major, minor)
	target, err := os.Readlink("/sys/dev/block/" + numbers)
	if err != nil {
		return numbers
	}
	return "/dev/" + path.Base(target)
}

// deviceOf is the device of the file system that a path is on.
func deviceOf(name string) string {
	var stat unix.Stat_t
	if err := unix.Stat(name, &stat); err != nil {
		return ""
	}
	return deviceName(uint64(unix.Major(stat.Dev)), uint64(unix.Minor(stat.Dev)))
}

// sandboxImage is the image that all sandboxes are of, as far as the runtime tells:
// dashboards know sandboxes by that they have one.
func (s *Stats) sandboxImage(ctx context.Context, sandboxes []sandbox) string {
	const unknown = "pause"
	if len(sandboxes) == 0 {
		return unknown
	}
	return cmp.Or(cri.SandboxImage(ctx, s.Runtime, sandboxes[0].Id), unknown)
}
