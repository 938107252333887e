package machine

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
)

// Process is a program that tests have started in the background. It dies with
// the test's process.
type Process struct {
	// Name is the program's file name.
	Name    string
	logFile string
	mark    int // where LogSinceMark begins
	process *os.Process
	ended   chan struct{}
}

// StartProcess starts cmd, which must be fresh, and appends its output to logFile.
func StartProcess(cmd *exec.Cmd, logFile string) (*Process, error) {
	p := &Process{Name: filepath.Base(cmd.Path), logFile: logFile, ended: make(chan struct{})}
	log, err := os.OpenFile(logFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", p.Name, err)
	}
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	// A group of its own keeps Ctrl-C away from it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	if err := p.start(cmd); err != nil {
		return nil, fmt.Errorf("start %s: %w", p.Name, err)
	}
	return p, nil
}

// start runs cmd from a thread that lives as long as cmd does: the kernel sends
// the signal of Pdeathsig when the parent's thread ends, not its process.
func (p *Process) start(cmd *exec.Cmd) error {
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		err := cmd.Start()
		p.process = cmd.Process
		started <- err
		if err == nil {
			_ = cmd.Wait() // the log says why it ended
			close(p.ended)
		}
	}()
	return <-started
}

// PID is the process's id.
func (p *Process) PID() int { return p.process.Pid }

// Ended is closed when the process has ended, however that came.
func (p *Process) Ended() <-chan struct{} { return p.ended }

// HasEnded says whether Ended is closed.
func (p *Process) HasEnded() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// Signal sends a signal; a process that has ended gets none.
func (p *Process) Signal(signal os.Signal) error {
	if err := p.process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("send %v to %s: %w", signal, p.Name, err)
	}
	return nil
}

// Kill ends the process at once and waits until it is gone.
func (p *Process) Kill() error {
	if err := p.Signal(os.Kill); err != nil {
		return err
	}
	<-p.ended
	return nil
}

// LastLines are the last lines of the log.
func (p *Process) LastLines(count int) []byte {
	text, err := os.ReadFile(p.logFile)
	if err != nil {
		return []byte(err.Error() + "\n")
	}
	end := len(text)
	for range count + 1 {
		if end = bytes.LastIndexByte(text[:end], '\n'); end < 0 {
			return text
		}
	}
	return text[end+1:]
}

// MarkLog marks the end of the log as it is now.
func (p *Process) MarkLog() {
	text, _ := os.ReadFile(p.logFile) // what cannot be read has no lines
	p.mark = len(text)
}

// LogSinceMark is the log behind the mark.
func (p *Process) LogSinceMark() []byte {
	text, err := os.ReadFile(p.logFile)
	if err != nil {
		return []byte(err.Error() + "\n")
	}
	return text[min(p.mark, len(text)):]
}
