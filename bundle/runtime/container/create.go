//go:build cgo

package container

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/containerd/log"
	"github.com/moby/sys/userns"
	"github.com/opencontainers/runc/libcontainer"
	"github.com/opencontainers/runc/libcontainer/configs"
	"github.com/opencontainers/runc/libcontainer/specconv"
	"github.com/opencontainers/runc/libcontainer/system"
	specs "github.com/opencontainers/runtime-spec/specs-go"

	_ "github.com/lifepod/lifepod/bundle/runtime/container/initprocess" // the process begins as this program
)

// create makes a container, whose process waits for its start.
func (m *Monitor) create(c command, cmd *exec.Cmd) error {
	spec, err := readSpec(c.flags.bundle)
	if err != nil {
		return errOther // which says what is wrong
	}
	if err := tooLarge(spec.Process); err != nil {
		return fmt.Errorf("runc create failed: %w", err)
	}
	if !fits(spec) {
		return errOther
	}
	config, err := c.config(spec)
	if err != nil {
		return errOther
	}
	process, err := newProcess(spec.Process, c.flags.console)
	if err != nil || config.Rootfs != filepath.Join(c.flags.bundle, "rootfs") {
		return errOther
	}
	process.Init = true
	closeFiles, err := connect(process, c.flags.console, cmd)
	if err != nil {
		return errOther
	}
	defer closeFiles()
	if err := m.Provide(c.flags.bundle, config.Seccomp); err != nil {
		log.L.WithError(err).WithField("container", c.id).Debug("its process makes the seccomp filter")
	}
	if err := m.createAs(c, config, process); err != nil {
		return fmt.Errorf("runc create failed: %w", withLimit(err, spec))
	}
	return nil
}

// createAs makes a container; nothing is left of one that can't be made.
func (m *Monitor) createAs(c command, config *configs.Config, process *libcontainer.Process) error {
	container, err := libcontainer.Create(c.root, c.id, config)
	if err != nil {
		return err
	}
	defer m.Children.Making()()
	err = container.Start(process)
	if err == nil {
		err = writePID(c.flags.pidFile, process)
	}
	if err != nil {
		return errors.Join(err, container.Destroy())
	}
	return nil
}

func readSpec(bundle string) (*specs.Spec, error) {
	text, err := os.ReadFile(filepath.Join(bundle, "config.json"))
	if err != nil {
		return nil, err
	}
	var spec specs.Spec
	if err := json.Unmarshal(text, &spec); err != nil {
		return nil, err
	}
	return &spec, nil
}

// fits says whether a container with that spec is made here. Hooks are run by a process that
// nobody else reaps children of, in the bundle's folder; paths that start there are read there.
// Rootless containers are runc's, too.
func fits(spec *specs.Spec) bool {
	if os.Geteuid() != 0 || userns.RunningInUserNS() {
		return false
	}
	if spec.Hooks != nil || spec.Root == nil || spec.Linux == nil {
		return false
	}
	return !slices.ContainsFunc(spec.Mounts, func(m specs.Mount) bool {
		return m.Source != "" && !filepath.IsAbs(m.Source) && isBind(m)
	})
}

func isBind(m specs.Mount) bool {
	return m.Type == "bind" || slices.Contains(m.Options, "bind") || slices.Contains(m.Options, "rbind")
}

// bundleLabel is where runc writes down a container's bundle, which it takes for the
// folder that it works in.
const bundleLabel = "bundle="

// config is what runc's library makes of a spec.
func (c command) config(spec *specs.Spec) (*configs.Config, error) {
	if !filepath.IsAbs(spec.Root.Path) {
		spec.Root.Path = filepath.Join(c.flags.bundle, spec.Root.Path)
	}
	config, err := specconv.CreateLibcontainerConfig(&specconv.CreateOpts{
		CgroupName: c.id, UseSystemdCgroup: c.systemd, NoPivotRoot: c.flags.noPivot, NoNewKeyring: c.flags.noKeyring, Spec: spec,
	})
	if err != nil {
		return nil, err
	}
	last := len(config.Labels) - 1
	if last < 0 || !strings.HasPrefix(config.Labels[last], bundleLabel) {
		return nil, fmt.Errorf("labels of container %s: the last is not that of its bundle", c.id)
	}
	config.Labels[last] = bundleLabel + filepath.Clean(c.flags.bundle)
	return config, nil
}

// takeoverMost is how often, a millisecond apart, a thread is looked for that takes its leader's place.
const takeoverMost = 100

// statusOf is the container's status. If a process of several threads executes a program in another than its first thread, the first
// is a zombie until the other has taken its place. Libcontainer, which looks at that one alone, says that the container has stopped.
func statusOf(container *libcontainer.Container) (libcontainer.Status, error) {
	for range takeoverMost {
		status, err := container.Status()
		if err != nil || status != libcontainer.Stopped {
			return status, err
		}
		state, err := container.State()
		if err != nil || !hasLiveThread(state.InitProcessPid, state.InitProcessStartTime) {
			return status, err
		}
		time.Sleep(time.Millisecond)
	}
	return container.Status()
}

// hasLiveThread says whether any thread lives of the process with that number that began at that time, in ticks of the clock since
// the boot.
func hasLiveThread(pid int, began uint64) bool {
	leader, err := system.Stat(pid)
	if err != nil || leader.StartTime != began {
		return false
	}
	threads, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid)) // else it has ended
	for _, thread := range threads {
		if id, err := strconv.Atoi(thread.Name()); err == nil && id != pid && lives(id) {
			return true
		}
	}
	return lives(pid) // one of them may just have taken its place
}

func lives(thread int) bool {
	stat, err := system.Stat(thread)
	return err == nil && stat.State != system.Zombie && stat.State != system.Dead
}
