// Package background runs this program's command line once more as a process of its own, which outlives the terminal.
package background

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/lifepod/lifepod/internal/logfile"
	"github.com/lifepod/lifepod/internal/rootfolder"
)

// variable tells a process that it runs in the background, and that somebody waits at its file 3 until it is ready.
const (
	variable  = "LIFEPOD_READY"
	readyFile = 3
)

// Start starts the command line in the background, with stdin as its standard input, which may be nil, and what it prints in the file
// log. It waits until the process says with Ready that it is, and takes what that says. A process that ends before is an error that
// begins with otherwise and has the last lines that it has logged; ctx ends it until then. Where there is systemd, the process is in a
// scope of its own, so that it does not end with the session.
func Start(ctx context.Context, otherwise, log string, stdin *os.File, ready any) error {
	if err := rootfolder.Ensure(filepath.Dir(log), 0o700); err != nil {
		return err
	}
	file, err := logfile.Open(log)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	at, _ := file.Seek(0, io.SeekEnd) // 0: more is shown
	read, write, err := os.Pipe()
	if err != nil {
		return err
	}
	defer func() { _ = read.Close() }()
	self, err := os.Executable()
	if err != nil {
		return err
	}
	command := exec.Command(self, os.Args[1:]...)
	command.Args[0] = "lifepod"
	_, err = os.Stat("/run/systemd/system")
	if run, absent := exec.LookPath("systemd-run"); err == nil && absent == nil {
		command = exec.Command(run, append([]string{"--scope", "--quiet", "--collect", "--", self}, os.Args[1:]...)...)
	}
	command.Env = append(os.Environ(), variable+"=1")
	command.Stdout, command.Stderr, command.ExtraFiles = file, file, []*os.File{write}
	if stdin != nil {
		command.Stdin = stdin
	}
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := command.Start(); err != nil {
		return err
	}
	_ = write.Close() // the child's end is its own
	defer context.AfterFunc(ctx, func() { _ = command.Process.Signal(syscall.SIGTERM) })()
	if err := json.NewDecoder(read).Decode(ready); err != nil {
		_ = command.Wait() // how it ended its log says
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		said := strings.ReplaceAll("\n"+logfile.Tail(log, at), "\nlifepod: ", "\n") // this process says that
		return fmt.Errorf("%s:%s\nMore is in %s", otherwise, said, log)
	}
	return nil
}

// Process is one that Start has started.
type Process struct{ ready *os.File }

// Take is this process, nil unless Start has started it. What it starts itself does not take itself for that.
func Take() *Process {
	if os.Getenv(variable) == "" {
		return nil
	}
	_ = os.Unsetenv(variable) // can't fail for this one
	syscall.CloseOnExec(readyFile)
	return &Process{os.NewFile(readyFile, "ready")}
}

// Has says whether a process, and not one that it has started, runs in the background.
func Has(pid int) bool {
	environment, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid)) // as it was at its start
	return err == nil && strings.Contains("\x00"+string(environment), "\x00"+variable+"=1\x00")
}

// LoggingTo are the processes whose output goes to a log, those among them that Start has not started, too.
func LoggingTo(log string) (pids []int) {
	wanted, err := os.Stat(log)
	if err != nil {
		return nil // nothing has been started
	}
	outputs, _ := filepath.Glob("/proc/[0-9]*/fd/1") // the pattern is right
	for _, output := range outputs {
		is, err := os.Stat(output)
		if err != nil || !os.SameFile(is, wanted) {
			continue
		}
		if pid, err := strconv.Atoi(strings.Split(output, "/")[2]); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// Ready tells who waits, who may be gone.
func (p *Process) Ready(value any) {
	_ = json.NewEncoder(p.ready).Encode(value)
	_ = p.ready.Close()
}

// logInterval is how often the size of a log is looked at.
const logInterval = time.Minute

// Trim bounds the process's log until ctx ends.
func Trim(ctx context.Context, path string, log *slog.Logger) {
	ticker := time.NewTicker(logInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			if err := logfile.Trim(path); err != nil {
				log.Warn("the log was not trimmed", "err", err)
			}
		}
	}
}
