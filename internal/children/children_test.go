package children

import (
	"os"
	"os/exec"
	"testing"
)

func TestKill(t *testing.T) {
	child := exec.Command("sleep", "1000")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	Kill(os.Getpid())
	if err := child.Wait(); err == nil || child.ProcessState.String() != "signal: killed" {
		t.Errorf("the child ended with %v, want it killed", err)
	}
}
