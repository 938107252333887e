// Package pidfd names processes for good, watches them and ends them. A PID alone may be used again;
// with its start time it names one process, and an open descriptor (pidfd_open) holds on to it.
package pidfd

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"
)

// ID names a process of this machine for as long as the machine is up.
type ID struct {
	PID int `json:"pid"`
	// StartTicks is the start time in clock ticks since boot.
	StartTicks uint64 `json:"startTicks"`
}

// ErrEnded says that a process has ended, even if its parent has not taken note of it.
var ErrEnded = errors.New("the process has ended")

// Find is the ID of the process that has this PID now.
func Find(pid int) (ID, error) {
	proc, err := procfs.NewProc(pid)
	if errors.Is(err, fs.ErrNotExist) {
		return ID{}, ErrEnded
	}
	if err != nil {
		return ID{}, err
	}
	stat, err := Stat(proc)
	return Of(stat), err
}

// Of is the ID of the process that Stat was asked about.
func Of(stat procfs.ProcStat) ID { return ID{PID: stat.PID, StartTicks: stat.Starttime} }

// Stat is what /proc says of a process that has not ended: ErrEnded, otherwise.
func Stat(proc procfs.Proc) (procfs.ProcStat, error) {
	stat, err := proc.Stat()
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ESRCH) || err == nil && strings.ContainsAny(stat.State, "ZX") {
		return procfs.ProcStat{}, ErrEnded
	}
	return stat, err
}

// Arguments is a process's command line; empty if it has ended. procfs drops arguments at the end that are empty.
func Arguments(pid int) []string {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if len(text) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(text), "\x00"), "\x00")
}

// Program is the path of a process's program, whether or not the file has been removed since; empty if it isn't known.
func Program(proc procfs.Proc) string {
	path, _ := proc.Executable() // none, if it has ended
	return strings.TrimSuffix(path, " (deleted)")
}
