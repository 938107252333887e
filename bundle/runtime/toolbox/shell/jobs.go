package shell

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"mvdan.cc/sh/v3/interp"
	"mvdan.cc/sh/v3/syntax"

	"github.com/lifepod/lifepod/bundle/runtime/toolbox"
)

// jobs finds the processes of a background command. The library's $! is "g1",
// "g2", …, the number of the command, not a process ID, and it doesn't say
// which subshell runs which command: the position in the script does. A
// command that is put into the background several times, in a loop, counts as
// one job here.
type jobs struct {
	mu sync.Mutex // guards everything
	// commands are the background commands of the script, in its order.
	commands []*job
	// seen is closed and replaced when a job has started its first process.
	seen chan struct{}
}

// job is one background command of the script.
type job struct {
	start, end uint
	processes  []*os.Process
	killed     bool
}

// note lists the background commands within a statement, outermost first.
func (j *jobs) note(stmt *syntax.Stmt) {
	j.mu.Lock()
	defer j.mu.Unlock()
	syntax.Walk(stmt, func(node syntax.Node) bool {
		s, ok := node.(*syntax.Stmt)
		if !ok || !s.Background {
			return true
		}
		j.commands = append(j.commands, &job{start: s.Pos().Offset(), end: s.End().Offset()})
		return false
	})
}

// at is the job whose command is at pos, nil for none.
func (j *jobs) at(pos syntax.Pos) *job {
	for _, job := range j.commands {
		if pos.IsValid() && job.start <= pos.Offset() && pos.Offset() < job.end {
			return job
		}
	}
	return nil
}

// started notes a process of a subshell.
func (j *jobs) started(pos syntax.Pos, process *os.Process) {
	j.mu.Lock()
	defer j.mu.Unlock()
	job := j.at(pos)
	if job == nil {
		return
	}
	job.processes = append(job.processes, process)
	close(j.seen)
	j.seen = make(chan struct{})
}

// killedAt says that the command at pos is to run no further.
func (j *jobs) killedAt(pos syntax.Pos) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	job := j.at(pos)
	return job != nil && job.killed
}

// number finds job n, counted from 1 among those that have started a process.
// One that was just put into the background may still be about to: it is
// waited for, but not for long, since it may never start one.
func (j *jobs) number(n int) *job {
	late := time.After(time.Second)
	for {
		found, seen := j.nth(n)
		if found != nil {
			return found
		}
		select {
		case <-seen:
		case <-late:
			return nil
		}
	}
}

// nth is the job if it has started, and what is closed when the next one does.
func (j *jobs) nth(n int) (*job, <-chan struct{}) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, job := range j.commands {
		if len(job.processes) > 0 {
			n--
		}
		if n == 0 {
			return job, nil
		}
	}
	return nil, j.seen
}

// wait is the builtin, but returns with 128 plus the number when a trapped
// signal arrives.
func (sh *shell) wait(ctx context.Context, hc interp.HandlerContext, args []string) error {
	done := make(chan error, 1)
	go func() { done <- hc.Builtin(ctx, slices.Concat([]string{"wait"}, args)) }()
	select {
	case err := <-done:
		return err
	case s := <-sh.traps.arrived:
		return interp.ExitStatus(128 + s)
	}
}

// kill [-SIGNAL] PID|JOB….
func (sh *shell) kill(hc interp.HandlerContext, args []string) error {
	signal, targets := syscall.SIGTERM, args
	if len(targets) > 1 && targets[0] == "-s" {
		targets = append([]string{"-" + targets[1]}, targets[2:]...)
	}
	if len(targets) > 0 && strings.HasPrefix(targets[0], "-") {
		var err error
		if signal, err = toolbox.ParseSignal(targets[0][1:]); err != nil {
			fmt.Fprintf(hc.Stderr, "kill: %v\n", err)
			return interp.ExitStatus(2)
		}
		targets = targets[1:]
	}
	var status error
	for _, target := range targets {
		if err := sh.killOne(signal, target); err != nil {
			fmt.Fprintf(hc.Stderr, "kill: %s: %v\n", target, err)
			status = interp.ExitStatus(1)
		}
	}
	return status
}

func (sh *shell) killOne(signal syscall.Signal, target string) error {
	number, isJob := strings.CutPrefix(target, "g")
	n, err := strconv.Atoi(number)
	switch {
	case err != nil:
		return errors.New("want a process ID or $!") //nolint:staticcheck // $! is the shell's
	case !isJob:
		return syscall.Kill(n, signal)
	}
	job := sh.jobs.number(n)
	if job == nil {
		return errors.New("no such job")
	}
	return sh.jobs.signal(job, signal)
}

// signal reaches the processes of a job that still run, and ends its subshell,
// which may be between two processes.
func (j *jobs) signal(job *job, signal syscall.Signal) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	running := signal != 0 && !job.killed
	job.killed = job.killed || signal != 0
	for _, process := range job.processes {
		if process.Signal(signal) == nil {
			running = true
		}
	}
	if !running {
		return syscall.ESRCH
	}
	return nil
}
