package podcgroup

import (
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/opencontainers/cgroups"
)

const (
	// renewal is below what the kernel needs to forget a move: a grace period, which lasts
	// 12 ms and more at 250 ticks a second.
	renewal = 8 * time.Millisecond
	// longestExpected is how long the kernel is kept ready for one call. A runtime that takes
	// longer waits for processors, and this process must not take them from it.
	longestExpected = 150 * time.Millisecond
)

// Moves spares runtimes a wait for the kernel. A runtime moves each process that it starts
// into its cgroup, under a lock that forks and exits take as well (cgroup_threadgroup_rwsem).
// Who takes it for a move after a pause waits for an RCU grace period, 15 to 20 ms at 250
// ticks a second; who takes it soon after another does not. While a move is expected, this
// process moves itself into the cgroup where it is already, over and over: that changes
// nothing, takes 10 µs, and has the kernel wait while the runtime is still at what comes
// before its own move. With the mount option favordynmods the kernel never waits.
//
// The zero value is ready for use; nil expects nothing.
type Moves struct {
	// file finds the file by which this process is moved; nil for its own cgroup's. Tests set it.
	file func() (string, error)

	mu       sync.Mutex
	expected int  // calls of Expect that have not ended
	running  bool // there is a goroutine of renew
}

// Expect is called before the runtime is asked to start a process, and end, which may be
// called more than once, when it has answered. It does not wait, and can't fail: where this
// process must not move itself, the runtime waits as it would without.
func (m *Moves) Expect() (end func()) {
	if m == nil {
		return func() {}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.expected++
	if !m.running {
		m.running = true
		go m.renew()
	}
	once := sync.OnceFunc(func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.expected--
	})
	limit := time.AfterFunc(longestExpected, once)
	return func() {
		limit.Stop()
		once()
	}
}

// renew moves this process until no move is expected any more.
func (m *Moves) renew() {
	file, err := m.open()
	if err == nil {
		defer func() { _ = file.Close() }() // each write has reported what it has done
	}
	for m.goOn() {
		if err == nil {
			_, err = file.WriteString("0") // this process
		}
		time.Sleep(renewal)
	}
}

// open is the file by which this process is moved to where it is. It is looked for each
// time: somebody may have moved this process since.
func (m *Moves) open() (*os.File, error) {
	find := m.file
	if find == nil {
		find = ownProcs
	}
	path, err := find()
	if err != nil {
		return nil, err
	}
	return os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
}

// goOn says whether a move is expected; renew ends if none is.
func (m *Moves) goOn() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.running = m.expected > 0
	return m.running
}

// ownProcs is the file that has the processes of this process's cgroup; with cgroup v1 that
// of one hierarchy, since the lock is the same.
func ownProcs() (string, error) {
	if !cgroups.IsCgroup2UnifiedMode() {
		dir, err := cgroups.GetOwnCgroupPath("cpu")
		return filepath.Join(dir, cgroups.CgroupProcesses), err
	}
	own, err := cgroups.ParseCgroupFile("/proc/self/cgroup")
	return filepath.Join("/sys/fs/cgroup", own[""], cgroups.CgroupProcesses), err
}
