package objects

import (
	"os/exec"

	"golang.org/x/sys/unix"
)

// inOwnGroup makes the end of the command's context that of its children, too.
func inOwnGroup(command *exec.Cmd) {
	command.SysProcAttr = &unix.SysProcAttr{Setpgid: true, Pdeathsig: unix.SIGKILL}
	command.Cancel = func() error { return unix.Kill(-command.Process.Pid, unix.SIGKILL) }
}
