package internal_test

import (
	"os"
	"os/exec"
	"testing"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/internal/pidfd"
)

func TestPIDFDKillChildren(t *testing.T) {
	child := exec.Command("sleep", "1000")
	assert.Must(t, child.Start())
	self, err := pidfd.OpenPID(os.Getpid())
	assert.Must(t, err)
	defer self.Close()
	self.KillChildren()
	if err := child.Wait(); err == nil || child.ProcessState.String() != "signal: killed" {
		t.Errorf("the child ended with %v, want it killed", err)
	}
}
