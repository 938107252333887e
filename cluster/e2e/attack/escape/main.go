// Command escape is a container of `make attack`. It tries to leave its container with what a container has by default, and
// prints what it was answered. It exits 1 if anything is not refused as expected.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

// try is one attempt, and how it has to be refused.
type try struct {
	name  string
	do    func() error
	want  []error
	plain bool // refused without a seccomp filter, too
}

var errEmpty = errors.New("there is nothing")

var (
	device  = flag.String("device", "", "a block volume")
	local   = flag.Int("local", 0, "a port on the machine's 127.0.0.1")
	gateway = flag.String("gateway", "", "ADDRESS:PORT of the machine that the container may connect to")
	plain   = flag.Bool("unconfined", false, "there is no seccomp filter")
)

func main() {
	flag.Parse()
	tries := append(append(append(files(), devices()...), calls()...), loops()...)
	if *local != 0 {
		tries = append(tries, try{"packet to the machine's 127.0.0.1", localnet, []error{errDropped}, true})
	}
	failed := false
	for _, t := range tries {
		if *plain && !t.plain {
			continue
		}
		err := t.do()
		refused := false
		for _, want := range t.want {
			refused = refused || errors.Is(err, want)
		}
		if refused {
			fmt.Printf("refused      %s: %v\n", t.name, err)
		} else {
			failed = true
			fmt.Printf("NOT REFUSED  %s: %v, want %v\n", t.name, err, t.want)
		}
	}
	if failed {
		os.Exit(1)
	}
}

// files are those of the kernel that are the machine's.
func files() (tries []try) {
	for _, path := range []string{
		"/proc/sys/kernel/core_pattern", "/proc/sys/kernel/modprobe", "/proc/sys/net/ipv4/ip_forward", "/proc/sys/vm/overcommit_memory",
		"/proc/sysrq-trigger", "/proc/irq/default_smp_affinity", "/sys/kernel/uevent_helper", "/sys/fs/cgroup/release_agent", "/sys/fs/cgroup/cgroup.procs",
		"/sys/fs/cgroup/*/release_agent", "/sys/fs/cgroup/devices/devices.allow", "/sys/fs/cgroup/*/notify_on_release",
		"/sys/kernel/security/apparmor/.replace", "/sys/power/state", "/sys/module/*/parameters/*",
	} {
		tries = append(tries, try{"write " + path, func() error {
			found, _ := filepath.Glob(path)
			for _, file := range found {
				f, err := os.OpenFile(file, os.O_WRONLY, 0)
				if err == nil {
					_ = f.Close()
					return fmt.Errorf("%s can be written", file)
				}
				if !errors.Is(err, unix.EROFS) && !errors.Is(err, unix.EACCES) && !errors.Is(err, unix.EPERM) {
					return err
				}
			}
			return unix.EROFS
		}, []error{unix.EROFS}, true})
	}
	for _, path := range []string{"/proc/kcore", "/proc/keys", "/proc/timer_list", "/proc/latency_stats", "/sys/firmware/*", "/sys/devices/virtual/powercap/*"} {
		tries = append(tries, try{"read " + path, func() error {
			found, _ := filepath.Glob(path)
			for _, file := range found {
				f, err := os.Open(file)
				if err != nil {
					continue
				}
				n, err := f.Read(make([]byte, 16))
				if n > 0 || !errors.Is(err, io.EOF) {
					return fmt.Errorf("%s: %d bytes, %w", file, n, err)
				}
			}
			return errEmpty
		}, []error{errEmpty}, true})
	}
	return append(tries, try{"processes of others", func() error {
		found, _ := filepath.Glob("/proc/[0-9]*")
		if len(found) != 1 {
			return fmt.Errorf("%v", found)
		}
		return errEmpty
	}, []error{errEmpty}, true}, try{"make a cgroup", func() error { return os.Mkdir("/sys/fs/cgroup/memory/x", 0o700) }, []error{unix.EROFS, unix.ENOENT}, true},
		try{"links out of /proc", func() error {
			_, err := os.ReadFile("/proc/1/root/../../../../tmp/lifepod-canary")
			return err
		}, []error{unix.ENOENT}, true})
}

func devices() (tries []try) {
	for name, number := range map[string]uint64{
		"mem": unix.Mkdev(1, 1), "port": unix.Mkdev(1, 4), "kmsg": unix.Mkdev(1, 11), "loop-control": unix.Mkdev(10, 237), "fuse": unix.Mkdev(10, 229),
		"kvm": unix.Mkdev(10, 232), "device mapper": unix.Mkdev(10, 236), "vhost-net": unix.Mkdev(10, 238), "tty1": unix.Mkdev(4, 1),
	} {
		tries = append(tries, openNode(name, unix.S_IFCHR, number))
	}
	for name, number := range map[string]uint64{"loop0": unix.Mkdev(7, 0), "loop1": unix.Mkdev(7, 1), "sda": unix.Mkdev(8, 0), "dm-0": unix.Mkdev(253, 0), "vda": unix.Mkdev(254, 0)} {
		tries = append(tries, openNode(name, unix.S_IFBLK, number))
	}
	return tries
}

func openNode(name string, kind uint32, number uint64) try {
	return try{"device " + name, func() error {
		var own unix.Stat_t
		if unix.Stat(*device, &own) == nil && own.Rdev == number {
			return unix.EPERM // it is the container's volume
		}
		path := "/node-" + strconv.FormatUint(number, 16) + strconv.Itoa(int(kind))
		if err := unix.Mknod(path, kind|0o600, int(number)); err != nil {
			return err
		}
		fd, err := unix.Open(path, unix.O_RDWR, 0)
		if err == nil {
			_ = unix.Close(fd)
		}
		return err
	}, []error{unix.EPERM}, true}
}

// call is a system call of three arguments.
func call(number uintptr, arguments ...uintptr) func() error {
	return func() error {
		var a [6]uintptr
		copy(a[:], arguments)
		_, _, errno := unix.RawSyscall6(number, a[0], a[1], a[2], a[3], a[4], a[5])
		if errno != 0 {
			return errno
		}
		return nil
	}
}

func text(s string) uintptr {
	p, _ := unix.BytePtrFromString(s) // has no NUL
	kept = append(kept, p)
	return uintptr(unsafe.Pointer(p))
}

// kept is what the kernel gets the addresses of.
var kept []*byte

// calls of the kernel that act on the machine, or make ways around what a container may.
func calls() []try {
	perm := []error{unix.EPERM}
	return []try{
		{"mount tmpfs", func() error { return unix.Mount("x", "/", "tmpfs", 0, "") }, []error{unix.EPERM, unix.EACCES}, true},
		{"mount cgroup", func() error { return unix.Mount("x", "/", "cgroup", 0, "memory") }, []error{unix.EPERM, unix.EACCES}, true},
		{"mount proc", func() error { return unix.Mount("x", "/", "proc", 0, "") }, []error{unix.EPERM, unix.EACCES}, true},
		{"unmount /proc", func() error { return unix.Unmount("/proc", unix.MNT_DETACH) }, perm, true},
		{"bind the root writable", func() error { return unix.Mount("", "/proc/sys", "", unix.MS_REMOUNT|unix.MS_BIND, "") }, []error{unix.EPERM, unix.EACCES}, true},
		{"fsopen", call(unix.SYS_FSOPEN, text("tmpfs")), perm, true},
		{"open_tree", call(unix.SYS_OPEN_TREE, 0, text("/"), 1), perm, true},
		{"pivot_root", call(unix.SYS_PIVOT_ROOT, text("/"), text("/")), perm, true},
		{"open_by_handle_at", func() error {
			root, err := unix.Open("/", unix.O_RDONLY, 0)
			if err != nil {
				return err
			}
			_, err = unix.OpenByHandleAt(root, unix.NewFileHandle(1, make([]byte, 8)), unix.O_RDONLY)
			return err
		}, perm, true},
		{"unshare a user namespace", func() error { return unix.Unshare(unix.CLONE_NEWUSER) }, perm, false},
		{"unshare mounts", func() error { return unix.Unshare(unix.CLONE_NEWNS) }, perm, true},
		{"clone a user namespace", call(unix.SYS_CLONE, unix.CLONE_NEWUSER|uintptr(unix.SIGCHLD)), perm, false},
		{"clone3", call(unix.SYS_CLONE3, 0, 88), []error{unix.ENOSYS}, false},
		{"setns", func() error {
			fd, err := unix.Open("/proc/self/ns/net", unix.O_RDONLY, 0)
			if err != nil {
				return err
			}
			return unix.Setns(fd, 0)
		}, perm, true},
		{"bpf", call(unix.SYS_BPF, 5, 0, 0), []error{unix.EPERM}, false}, {"keyctl", call(unix.SYS_KEYCTL, 0, ^uintptr(3), 1), perm, false},
		{"add_key", call(unix.SYS_ADD_KEY, text("user"), text("x"), text("y"), 1, ^uintptr(3)), perm, false},
		{"userfaultfd", call(unix.SYS_USERFAULTFD, 0), perm, false}, {"io_uring_setup", call(unix.SYS_IO_URING_SETUP, 1, 0), perm, false},
		{"perf_event_open", call(unix.SYS_PERF_EVENT_OPEN, 0, 0, ^uintptr(0), ^uintptr(0), 0), perm, false},
		{"init_module", call(unix.SYS_INIT_MODULE, text("x"), 1, text("")), []error{unix.EPERM, unix.ENOSYS}, true},
		{"kexec_load", call(unix.SYS_KEXEC_LOAD, 0, 0, 0, 0), []error{unix.EPERM, unix.ENOSYS}, true},
		{"reboot", call(unix.SYS_REBOOT, 1, 2, 3), perm, true}, {"swapon", call(unix.SYS_SWAPON, text("/x"), 0), perm, true},
		{"acct", call(unix.SYS_ACCT, text("/x")), perm, true}, {"sethostname", func() error { return unix.Sethostname([]byte("x")) }, perm, true},
		{"the clock", func() error { return unix.ClockSettime(unix.CLOCK_REALTIME, &unix.Timespec{Sec: 1}) }, perm, true},
		{"the kernel's log", call(unix.SYS_SYSLOG, 5), perm, true}, {"quotactl", call(unix.SYS_QUOTACTL, 0, 0, 0, 0), perm, false},
		{"a socket of AF_ALG", socket(unix.AF_ALG), []error{unix.EPERM, unix.EAFNOSUPPORT}, false},
		{"a socket of AF_VSOCK", socket(unix.AF_VSOCK), []error{unix.EPERM, unix.EAFNOSUPPORT}, false},
		{"links down", func() error {
			fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
			if err != nil {
				return err
			}
			request, err := unix.NewIfreq("lo")
			if err != nil {
				return err
			}
			return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, request)
		}, perm, true},
		{"more than the hard limit", func() error {
			var limit unix.Rlimit
			if err := unix.Getrlimit(unix.RLIMIT_CORE, &limit); err != nil || limit.Max == unix.RLIM_INFINITY {
				return errors.Join(err, unix.EPERM) // there is no limit to raise
			}
			return unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{Cur: limit.Cur, Max: limit.Max + 1})
		}, perm, true},
	}
}

func socket(family int) func() error {
	return func() error {
		fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if errors.Is(err, unix.ESOCKTNOSUPPORT) {
			fd, err = unix.Socket(family, unix.SOCK_SEQPACKET, 0)
		}
		if err == nil {
			_ = unix.Close(fd)
		}
		return err
	}
}

// loops are what a loop device obeys, LOOP_CLR_FD last.
func loops() (tries []try) {
	if *device == "" {
		return nil
	}
	for _, c := range []struct {
		name   string
		number uintptr
	}{
		{"LOOP_SET_FD", 0x4C00}, {"LOOP_SET_STATUS", 0x4C02}, {"LOOP_SET_STATUS64", 0x4C04}, {"LOOP_CHANGE_FD", 0x4C06}, {"LOOP_SET_CAPACITY", 0x4C07},
		{"LOOP_SET_DIRECT_IO", 0x4C08}, {"LOOP_SET_BLOCK_SIZE", 0x4C09}, {"LOOP_CONFIGURE", 0x4C0A}, {"LOOP_CLR_FD", 0x4C01},
	} {
		tries = append(tries, try{c.name + " of a volume", func() error {
			fd, err := unix.Open(*device, unix.O_RDWR, 0)
			if err != nil {
				return fmt.Errorf("open %s: %w", *device, errors.New(err.Error())) // it is the container's own
			}
			defer func() { _ = unix.Close(fd) }()
			return call(unix.SYS_IOCTL, uintptr(fd), c.number, 0)()
		}, []error{unix.EPERM}, true})
	}
	return tries
}
