//go:build cgo

package container

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"github.com/opencontainers/runc/libcontainer"
	"github.com/opencontainers/runc/libcontainer/configs"
	specs "github.com/opencontainers/runtime-spec/specs-go"
	"github.com/opencontainers/selinux/go-selinux"
	"golang.org/x/sys/unix"
)

// exec starts another process in a container.
func (m *Monitor) exec(c command, cmd *exec.Cmd) error {
	text, err := os.ReadFile(c.flags.process)
	if err != nil {
		return errOther // which says what is wrong
	}
	var spec specs.Process
	if err := json.Unmarshal(text, &spec); err != nil {
		return errOther
	}
	if err := tooLarge(&spec); err != nil {
		return fmt.Errorf("exec failed: %w", err)
	}
	process, err := newProcess(&spec, c.flags.console)
	if err != nil {
		return errOther
	}
	closeFiles, err := connect(process, c.flags.console, cmd)
	if err != nil {
		return errOther
	}
	defer closeFiles()
	if err := m.execAs(c, process); err != nil {
		return fmt.Errorf("exec failed: %w", err)
	}
	return nil
}

func (m *Monitor) execAs(c command, process *libcontainer.Process) error {
	container, err := c.load()
	if err != nil {
		return err
	}
	status, err := statusOf(container)
	if err != nil {
		return err
	}
	switch status {
	case libcontainer.Stopped:
		return errors.New("cannot exec in a stopped container")
	case libcontainer.Created, libcontainer.Running:
	case libcontainer.Paused:
		return errors.New("cannot exec in a paused container (use --ignore-paused to override)")
	}
	defer m.Children.Making()()
	if err := container.Run(process); err != nil {
		return err
	}
	return writePID(c.flags.pidFile, process)
}

// logLevel of what becomes the container's process: information.
const logLevel = "4"

// newProcess is what runc makes of the process of a spec; an error, if it would refuse it.
func newProcess(spec *specs.Process, console string) (*libcontainer.Process, error) {
	if err := validate(spec, console); err != nil {
		return nil, err
	}
	affinity, err := configs.ConvertCPUAffinity(spec.ExecCPUAffinity)
	if err != nil {
		return nil, err
	}
	p := &libcontainer.Process{
		Args: spec.Args, Env: spec.Env, Cwd: spec.Cwd, UID: int(spec.User.UID), GID: int(spec.User.GID),
		Label: spec.SelinuxLabel, NoNewPrivileges: &spec.NoNewPrivileges, AppArmorProfile: spec.ApparmorProfile,
		Scheduler: spec.Scheduler, IOPriority: spec.IOPriority, CPUAffinity: affinity, LogLevel: logLevel,
	}
	if spec.ConsoleSize != nil {
		p.ConsoleWidth, p.ConsoleHeight = uint16(spec.ConsoleSize.Width), uint16(spec.ConsoleSize.Height)
	}
	if have := spec.Capabilities; have != nil {
		p.Capabilities = &configs.Capabilities{
			Bounding: have.Bounding, Effective: have.Effective, Inheritable: have.Inheritable, Permitted: have.Permitted, Ambient: have.Ambient,
		}
	}
	for _, group := range spec.User.AdditionalGids {
		p.AdditionalGroups = append(p.AdditionalGroups, int(group))
	}
	for _, limit := range spec.Rlimits {
		kind, known := rlimits[limit.Type]
		if !known {
			return nil, fmt.Errorf("wrong rlimit value: %s", limit.Type)
		}
		p.Rlimits = append(p.Rlimits, configs.Rlimit{Type: kind, Hard: limit.Hard, Soft: limit.Soft})
	}
	return p, nil
}

var rlimits = map[string]int{
	"RLIMIT_AS": unix.RLIMIT_AS, "RLIMIT_CORE": unix.RLIMIT_CORE, "RLIMIT_CPU": unix.RLIMIT_CPU, "RLIMIT_DATA": unix.RLIMIT_DATA,
	"RLIMIT_FSIZE": unix.RLIMIT_FSIZE, "RLIMIT_LOCKS": unix.RLIMIT_LOCKS, "RLIMIT_MEMLOCK": unix.RLIMIT_MEMLOCK,
	"RLIMIT_MSGQUEUE": unix.RLIMIT_MSGQUEUE, "RLIMIT_NICE": unix.RLIMIT_NICE, "RLIMIT_NOFILE": unix.RLIMIT_NOFILE,
	"RLIMIT_NPROC": unix.RLIMIT_NPROC, "RLIMIT_RSS": unix.RLIMIT_RSS, "RLIMIT_RTPRIO": unix.RLIMIT_RTPRIO,
	"RLIMIT_RTTIME": unix.RLIMIT_RTTIME, "RLIMIT_SIGPENDING": unix.RLIMIT_SIGPENDING, "RLIMIT_STACK": unix.RLIMIT_STACK,
}

func validate(spec *specs.Process, console string) error {
	switch {
	case spec == nil:
		return errors.New("process property must not be empty")
	case spec.Terminal != (console != ""):
		return errors.New("there is to be a terminal if, and only if, there is a socket for its console")
	case !filepath.IsAbs(spec.Cwd):
		return errors.New("Cwd must be an absolute path") //nolint:staticcheck // in runc's words
	case len(spec.Args) == 0:
		return errors.New("args must not be empty")
	case spec.SelinuxLabel != "" && !selinux.GetEnabled():
		return errors.New("selinux label is specified in config, but selinux is disabled or not supported")
	}
	return nil
}

// connect gives a process its console, or the files that runc would have; what is given back closes
// what only the start needs. Streams that are not files, and a console that does not go with
// the process, are left to runc.
func connect(p *libcontainer.Process, console string, cmd *exec.Cmd) (closeFiles func(), err error) {
	if console == "" {
		return func() {}, connectFiles(p, cmd)
	}
	conn, err := net.Dial("unix", console)
	if err != nil {
		return nil, err
	}
	socket, err := conn.(*net.UnixConn).File()
	if err != nil {
		_ = conn.Close() // nothing was sent
		return nil, err
	}
	p.ConsoleSocket = socket
	return func() { _, _ = conn.Close(), socket.Close() }, nil // what was sent is in the socket
}

// connectFiles leaves a stream nil that is nowhere: the library takes /dev/null.
func connectFiles(p *libcontainer.Process, cmd *exec.Cmd) error {
	for _, stream := range []any{cmd.Stdin, cmd.Stdout, cmd.Stderr} {
		if _, isFile := stream.(*os.File); !isFile && stream != nil {
			return errOther
		}
	}
	p.Stdin, p.Stdout, p.Stderr = cmd.Stdin, cmd.Stdout, cmd.Stderr
	return nil
}

// writePID writes the PID of a process that has begun to a file, which appears with it. If it can't,
// the process is ended.
func writePID(path string, process *libcontainer.Process) error {
	pid, err := process.Pid()
	if err == nil {
		err = replace(path, strconv.Itoa(pid))
	}
	if err != nil {
		_ = process.Signal(unix.SIGKILL)
		_, _ = process.Wait()
	}
	return err
}

func replace(path, text string) error {
	part := filepath.Join(filepath.Dir(path), "."+filepath.Base(path))
	file, err := os.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	_, err = file.WriteString(text)
	if err := errors.Join(err, file.Close()); err != nil {
		return err
	}
	return os.Rename(part, path)
}
