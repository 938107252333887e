package controlplane

import (
	"os"
	"os/exec"

	"github.com/lifepod/lifepod/e2e/machine"
)

// startPart runs a program in the control plane's folder, with its log there as
// NAME.log. A program that is started again continues its log.
func (c *ControlPlane) startPart(name string, flags []string) (*machine.Process, error) {
	cmd := exec.Command(c.Binary(name), flags...)
	cmd.Dir = c.dir
	// Nothing of the caller's environment, a proxy for one, may reach a part.
	cmd.Env = []string{"HOME=" + c.dir, "PATH=" + os.Getenv("PATH")}
	return machine.StartProcess(cmd, c.file(name+".log"))
}
