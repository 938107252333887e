package container

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/opencontainers/runc/libcontainer"
	"github.com/opencontainers/runc/libcontainer/configs"
	"golang.org/x/sys/unix"
)

// load returns a container that was created.
func (c command) load() (*libcontainer.Container, error) {
	return libcontainer.Load(c.root, c.id)
}

// start lets the process of a created container execute its program.
func (c command) start() error {
	container, err := c.load()
	if err != nil {
		return err
	}
	status, err := container.Status()
	if err != nil {
		return err
	}
	switch status {
	case libcontainer.Created:
		err = container.Exec()
		if err != nil {
			c.releaseStart()
		}
		return err
	case libcontainer.Stopped:
		return errors.New("cannot start a container that has stopped")
	case libcontainer.Running:
		return errors.New("cannot start an already running container")
	default:
		return fmt.Errorf("cannot start a container in the %s state", status)
	}
}

// releaseStart ends what waits in this process for a container's process that has ended.
func (c command) releaseStart() {
	file, err := os.OpenFile(filepath.Join(c.root, c.id, "exec.fifo"), os.O_WRONLY|unix.O_NONBLOCK, 0)
	if err == nil {
		_ = file.Close()
	}
}

// kill sends a signal to a container's process, or to all of them.
func (c command) kill() error {
	signal, err := strconv.Atoi(c.rest[0])
	if err != nil {
		return errOther // a name
	}
	container, err := c.load()
	if err != nil {
		return err
	}
	err = container.Signal(unix.Signal(signal))
	if c.flags.all && errors.Is(err, libcontainer.ErrNotRunning) {
		return nil
	}
	return err
}

// delete removes what is left of a container. With force it is asked for by who cleans up after
// a container, which as a rule there is none of any more; to end one is left to runc.
func (c command) delete() error {
	container, err := c.load()
	if errors.Is(err, libcontainer.ErrNotExist) {
		// Its creation has come to nothing, and may have left a folder.
		if removed := os.RemoveAll(filepath.Join(c.root, c.id)); removed != nil || !c.flags.force {
			return errors.Join(err, removed)
		}
		return nil
	}
	if c.flags.force {
		return errOther
	}
	if err != nil {
		return err
	}
	if config := container.Config(); config.HasHook(configs.Poststop) {
		return errOther
	}
	status, err := container.Status()
	if err != nil {
		return err
	}
	switch status {
	case libcontainer.Stopped:
		return container.Destroy()
	case libcontainer.Created:
		return killCreated(container)
	default:
		return fmt.Errorf("cannot delete container %s that is not stopped: %s", c.id, status)
	}
}

// A process that is killed has ended after a moment, or when the machine finds the time.
const (
	killInterval = 5 * time.Millisecond
	killPatience = 10 * time.Second
)

// killCreated removes a container that was never started.
func killCreated(container *libcontainer.Container) error {
	_ = container.Signal(unix.SIGKILL) // it may have ended
	for limit := time.Now().Add(killPatience); time.Now().Before(limit); time.Sleep(killInterval) {
		if container.Signal(unix.Signal(0)) != nil {
			return container.Destroy()
		}
	}
	return errors.New("container init still running")
}

// listProcesses writes the PIDs of a container's processes.
func (c command) listProcesses(out io.Writer) error {
	container, err := c.load()
	if err != nil {
		return err
	}
	pids, err := container.Processes()
	if err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(pids)
}

func (c command) pause() error {
	container, err := c.load()
	if err != nil {
		return err
	}
	return container.Pause()
}

func (c command) resume() error {
	container, err := c.load()
	if err != nil {
		return err
	}
	return container.Resume()
}
