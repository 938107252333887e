package toolbox

import (
	"bytes"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"sync"
	"syscall"
)

// children are the processes that this one started and waits for itself.
// Guarded by its mutex, which is held while a process is started: a child that
// ends at once must not be taken for an orphan.
var children = struct {
	sync.Mutex
	pids map[int]bool
}{pids: map[int]bool{}}

// StartChild starts a command that the caller waits for with WaitChild.
func StartChild(cmd *exec.Cmd) error {
	children.Lock()
	defer children.Unlock()
	if err := cmd.Start(); err != nil {
		return err
	}
	children.pids[cmd.Process.Pid] = true
	return nil
}

// WaitChild waits for a command started with StartChild.
func WaitChild(cmd *exec.Cmd) error {
	err := cmd.Wait()
	children.Lock()
	defer children.Unlock()
	delete(children.pids, cmd.Process.Pid)
	return err
}

// SignalChildren passes a signal on to every child; they are told apart from
// ended ones by WaitChild.
func SignalChildren(s syscall.Signal) {
	children.Lock()
	defer children.Unlock()
	for pid := range children.pids {
		_ = syscall.Kill(pid, s)
	}
}

// reapAsInit reaps orphans if this is process 1, which inherits them.
func reapAsInit() {
	if os.Getpid() != 1 {
		return
	}
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGCHLD)
	go func() {
		for range ended {
			reapOrphans()
		}
	}()
}

func reapOrphans() {
	children.Lock()
	defer children.Unlock()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return
	}
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err == nil && !children.pids[pid] && isZombieOf(pid, 1) {
			_, _ = syscall.Wait4(pid, nil, syscall.WNOHANG, nil)
		}
	}
}

// isZombieOf reads "PID (NAME) STATE PPID …"; the name can hold anything. Containers run this program, which
// is small because it has nothing but the standard library for it.
func isZombieOf(pid, parent int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return false
	}
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	return len(fields) > 1 && string(fields[0]) == "Z" && string(fields[1]) == strconv.Itoa(parent)
}
