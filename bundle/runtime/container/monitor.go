package container

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"

	"github.com/containerd/go-runc"
	"github.com/containerd/log"
	"github.com/opencontainers/runc/libcontainer/configs"

	"github.com/lifepod/lifepod/bundle/runtime/container/children"
)

// Monitor takes the place of [runc.Monitor], which executes runc.
type Monitor struct {
	// Programs executes what is not carried out here.
	Programs runc.ProcessMonitor
	// Runc is the path of the program whose commands are carried out here.
	Runc string
	// Children are the shim's.
	Children *children.Reaper
	// Provide lays the filter of a seccomp profile into a bundle (package filters). After an error the
	// container's process makes it.
	Provide func(bundle string, profile *configs.Seccomp) error
}

// Start begins a command. One that is carried out here has ended when it returns.
func (m *Monitor) Start(cmd *exec.Cmd) (chan runc.Exit, error) {
	defer closeInput(cmd)
	if exits := m.carryOut(cmd); exits != nil {
		return exits, nil
	}
	return m.Programs.Start(cmd)
}

// StartLocked is [Monitor.Start]; the thread that starts a program is kept until then.
func (m *Monitor) StartLocked(cmd *exec.Cmd) (chan runc.Exit, error) {
	defer closeInput(cmd)
	if exits := m.carryOut(cmd); exits != nil {
		return exits, nil
	}
	return m.Programs.StartLocked(cmd)
}

// closeInput closes this process's copy of the pipe that a command reads. go-runc closes those that it writes to, and keeps this one:
// who writes to the pipe would never learn that nobody reads it any more, and wait for ever when it is full.
func closeInput(cmd *exec.Cmd) {
	if pipe, isFile := cmd.Stdin.(*os.File); isFile {
		_ = pipe.Close() // nothing is written to it
	}
}

// Wait returns how a command has ended.
func (m *Monitor) Wait(cmd *exec.Cmd, exits chan runc.Exit) (int, error) {
	if cmd.Process != nil {
		return m.Programs.Wait(cmd, exits)
	}
	exit := <-exits
	return exit.Status, nil
}

// errOther says that a command is to be carried out by runc's program.
var errOther = errors.New("not carried out in this process")

// carryOut returns nil if a command is to be executed.
func (m *Monitor) carryOut(cmd *exec.Cmd) chan runc.Exit {
	c, known := parse(cmd.Args)
	if !known || !m.isRunc(cmd.Path) {
		return nil
	}
	err := m.do(c, cmd)
	if errors.Is(err, errOther) {
		return nil
	}
	exits := make(chan runc.Exit, 1)
	exit := runc.Exit{Timestamp: time.Now()}
	if err != nil {
		exit.Status = 1
		if c.verb == "exec" {
			exit.Status = 255
		}
		c.report(cmd, err)
	}
	exits <- exit
	return exits
}

func (m *Monitor) isRunc(path string) bool {
	if path == m.Runc {
		return true
	}
	given, errGiven := os.Stat(path)
	carried, errCarried := os.Stat(m.Runc)
	return errGiven == nil && errCarried == nil && os.SameFile(given, carried)
}

// do carries a command out. If the library panics, as about a state that is damaged, it is runc's
// program that shall end by it, not the shim.
func (m *Monitor) do(c command, cmd *exec.Cmd) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			log.L.WithField("container", c.id).Errorf("runc %s: panic: %v", c.verb, cause)
			err = errOther
		}
	}()
	switch c.verb {
	case "create":
		return m.create(c, cmd)
	case "exec":
		return m.exec(c, cmd)
	case "start":
		return c.start()
	case "kill":
		return c.kill()
	case "delete":
		return c.delete()
	case "ps":
		return c.listProcesses(cmd.Stdout)
	case "pause":
		return c.pause()
	case "resume":
		return c.resume()
	}
	return errOther
}

// report says what went wrong where runc says it: in its log, of which the last error is what
// a caller is told, and to who reads its output. That a container's output would have it, nobody
// sees: what has not begun is not read.
func (c command) report(cmd *exec.Cmd, err error) {
	if _, isFile := cmd.Stderr.(*os.File); !isFile && cmd.Stderr != nil {
		fmt.Fprintln(cmd.Stderr, err)
	}
	if c.log == "" {
		return
	}
	line, marshalErr := json.Marshal(map[string]string{"level": "error", "msg": err.Error(), "time": time.Now().Format(time.RFC3339)})
	if marshalErr != nil {
		return // there is no such map
	}
	file, openErr := os.OpenFile(c.log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if openErr != nil {
		return // as with runc, the caller is told that there is no log
	}
	_, _ = file.Write(append(line, '\n'))
	_ = file.Close()
}
