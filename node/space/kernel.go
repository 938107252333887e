package space

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"

	"github.com/opencontainers/cgroups"
	"golang.org/x/sys/unix"

	"github.com/lifepod/lifepod/node/stats"
	"github.com/lifepod/lifepod/roster/pressure"
)

// kernel tells when memory gets short.
type kernel struct {
	epoll  int
	stop   int    // eventfd that ends run
	cgroup string // of all pods
	short  func()

	mu     sync.Mutex
	closed bool
	files  map[int]*os.File // open until the end: PSI and memory.events
	alarms map[string]alarm // cgroup v1, by cgroup
}

// alarm is a threshold of usage that the kernel watches.
type alarm struct {
	fd int // eventfd
	at uint64
}

// stall is how long tasks wait for memory within a second when PSI tells of it, both in
// microseconds.
const stall = "some 100000 1000000"

func newKernel(podsCgroup string, short func()) (*kernel, error) {
	epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("epoll: %w", err)
	}
	k := &kernel{epoll: epoll, cgroup: podsCgroup, short: short, files: map[int]*os.File{}, alarms: map[string]alarm{}}
	if k.stop, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err == nil {
		err = k.watch(k.stop, unix.EPOLLIN)
	}
	if err == nil {
		err = k.watchStalls()
	}
	if cgroups.IsCgroup2UnifiedMode() {
		err = errors.Join(err, k.watchLimit())
	} else {
		err = nil // alarms are enough
	}
	if err != nil {
		k.close()
		return nil, err
	}
	return k, nil
}

func (k *kernel) watch(fd int, events uint32) error {
	if err := unix.EpollCtl(k.epoll, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: events, Fd: int32(fd)}); err != nil {
		return fmt.Errorf("watch with epoll: %w", err)
	}
	return nil
}

// watchStalls has PSI tell when tasks wait for memory.
func (k *kernel) watchStalls() error {
	file, err := os.OpenFile("/proc/pressure/memory", os.O_RDWR|unix.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	k.files[int(file.Fd())] = file
	if _, err := unix.Write(int(file.Fd()), []byte(stall+"\x00")); err != nil {
		return fmt.Errorf("set a trigger of /proc/pressure/memory: %w", err)
	}
	return k.watch(int(file.Fd()), unix.EPOLLPRI)
}

// watchLimit has cgroup v2 tell when the limit of all pods is hit; limits below it don't
// count. Without pods there may be no cgroup of theirs yet.
func (k *kernel) watchLimit() error {
	file, err := os.Open(filepath.Join(stats.MemoryFolder(k.cgroup), "memory.events.local"))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	k.files[int(file.Fd())] = file
	return k.watch(int(file.Fd()), unix.EPOLLPRI)
}

// run tells whenever the kernel does, until ctx ends.
func (k *kernel) run(ctx context.Context, log *slog.Logger) {
	defer k.close()
	defer context.AfterFunc(ctx, func() {
		one := binary.NativeEndian.AppendUint64(nil, 1)
		_, _ = unix.Write(k.stop, one) // it has room
	})()
	events := make([]unix.EpollEvent, 8)
	for {
		n, err := unix.EpollWait(k.epoll, events, -1)
		switch {
		case ctx.Err() != nil:
			return
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			log.Warn("the kernel no longer tells when memory gets short: it is measured more often instead", "err", err)
			<-ctx.Done()
			return
		}
		for _, e := range events[:n] {
			k.taken(int(e.Fd))
		}
		k.short()
	}
}

// taken takes an event in, so that the next one is seen.
func (k *kernel) taken(fd int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if file := k.files[fd]; file != nil {
		var rest [512]byte
		if _, err := file.ReadAt(rest[:], 0); err != nil && !errors.Is(err, io.EOF) { // it is gone, and would tell for ever
			_ = unix.EpollCtl(k.epoll, unix.EPOLL_CTL_DEL, fd, nil)
		}
		return
	}
	var count [8]byte
	_, _ = unix.Read(fd, count[:]) // an alarm that was replaced meanwhile is closed
}

func (k *kernel) close() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.closed = true
	for _, file := range k.files {
		_ = file.Close() // only read
	}
	for _, a := range k.alarms {
		_ = unix.Close(a.fd)
	}
	for _, fd := range []int{k.stop, k.epoll} {
		if fd > 0 {
			_ = unix.Close(fd)
		}
	}
}

// arm sets the alarms of cgroup v1 to the usage at which the working set reaches the
// nearest threshold: it moves with the part of the usage that can be taken back.
func (k *kernel) arm(thresholds []pressure.Threshold) {
	if cgroups.IsCgroup2UnifiedMode() {
		return
	}
	for signal, cgroup := range map[pressure.Signal]string{pressure.Memory: "/", pressure.AllocatableMemory: k.cgroup} {
		m, err := stats.ReadMemory(cgroup)
		if err != nil {
			continue
		}
		for i := range thresholds {
			t := &thresholds[i]
			if t.Signal != signal {
				continue
			}
			toGo := t.Left(left(m))
			if toGo <= 0 { // it is met already
				continue
			}
			_ = k.alarm(cgroup, m.Usage+uint64(toGo)) // else it is found at the next look
			break
		}
	}
}

// alarmStep is by how much an alarm may be wrong before it is set anew, in bytes.
const alarmStep = 8 << 20

// alarm has the kernel tell when the usage of a cgroup crosses a number of bytes.
func (k *kernel) alarm(cgroup string, at uint64) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	before, set := k.alarms[cgroup]
	if k.closed || set && max(before.at, at)-min(before.at, at) < alarmStep {
		return nil
	}
	dir := stats.MemoryFolder(cgroup)
	usage, err := os.Open(filepath.Join(dir, "memory.usage_in_bytes"))
	if err != nil {
		return err
	}
	defer func() { _ = usage.Close() }() // the kernel keeps its own
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return fmt.Errorf("eventfd: %w", err)
	}
	order := fmt.Sprintf("%d %d %d", fd, usage.Fd(), at)
	err = os.WriteFile(filepath.Join(dir, "cgroup.event_control"), []byte(order), 0)
	if err == nil {
		err = k.watch(fd, unix.EPOLLIN)
	}
	if err != nil {
		_ = unix.Close(fd)
		return err
	}
	if set {
		_ = unix.Close(before.fd) // which ends that alarm
	}
	k.alarms[cgroup] = alarm{fd: fd, at: at}
	return nil
}
