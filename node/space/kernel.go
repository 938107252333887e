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
	"regexp"
	"strconv"
	"sync"

	"github.com/opencontainers/cgroups"
	"golang.org/x/sys/unix"

	"github.com/lifepod/lifepod/internal/kernellog"
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

// OOMLog is the kernel's, from the time it is opened on.
type OOMLog struct{ records io.ReadCloser }

// OpenOOMLog opens the kernel's log at its end: what was killed before is no news, and the
// agent before has told of it.
func OpenOOMLog() (*OOMLog, error) {
	file, err := os.Open(kernellog.Device)
	if err != nil {
		return nil, fmt.Errorf("open the kernel's log: %w", err)
	}
	if _, err := file.Seek(0, io.SeekEnd); err != nil {
		return nil, errors.Join(fmt.Errorf("find the end of the kernel's log: %w", err), file.Close())
	}
	return &OOMLog{records: file}, nil
}

// Watch tells of victims until ctx ends, and closes the log.
func (l *OOMLog) Watch(ctx context.Context, tell func(OOMVictim)) error {
	stop := context.AfterFunc(ctx, func() { _ = l.records.Close() })
	defer func() {
		if stop() {
			_ = l.records.Close()
		}
	}()
	var p parser
	record := make([]byte, kernellog.Longest)
	for {
		n, err := l.records.Read(record)
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, unix.EPIPE): // records were overwritten before they were read
			p = parser{}
			continue
		case err != nil:
			return fmt.Errorf("read the kernel's log: %w", err)
		}
		if victim, found := p.next(kernellog.Message(string(record[:n]))); found {
			tell(victim)
		}
	}
}

// OOMVictim is a process that was killed because the machine was out of memory.
type OOMVictim struct {
	Process string
	PID     int
}

// parser finds the victims in the messages of the kernel's log, in their order. Each kill
// takes several lines: one that begins it, one that says whose limit was reached, and one
// that names the process.
type parser struct {
	begun bool // a kill, whose process is not named yet
}

var (
	begins = regexp.MustCompile(`invoked oom-killer:`)
	// limited are the lines that say which cgroup's limit was reached: of Linux from 5.0 on,
	// and of those before. When all memory is used, there is none.
	limited = regexp.MustCompile(`oom-kill:constraint=.*,oom_memcg=(.*),task_memcg=|Task in .* killed as a result of limit of (.*)`)
	killed  = regexp.MustCompile(`Killed process ([0-9]+) \((.+)\)`)
)

// next takes a message, and returns the victim that it names.
func (p *parser) next(message string) (OOMVictim, bool) {
	if begins.MatchString(message) {
		p.begun = true
		return OOMVictim{}, false
	}
	if !p.begun {
		return OOMVictim{}, false
	}
	if found := limited.FindStringSubmatch(message); found != nil {
		p.begun = found[1]+found[2] == "/"
		return OOMVictim{}, false
	}
	found := killed.FindStringSubmatch(message)
	if found == nil {
		return OOMVictim{}, false
	}
	p.begun = false
	pid, err := strconv.Atoi(found[1])
	return OOMVictim{Process: found[2], PID: pid}, err == nil
}
