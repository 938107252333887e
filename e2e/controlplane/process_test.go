package controlplane_test

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/lifepod/lifepod/e2e/machine"
	"github.com/lifepod/lifepod/internal/assert"
)

func startShell(t *testing.T, log, script string) *machine.Process {
	t.Helper()
	p := assert.Get(machine.StartProcess(exec.Command("sh", "-c", script), log)).Must(t)
	assert.AtEnd(t, p.Kill)
	return p
}

func TestLastLines(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	<-startShell(t, log, "echo one; echo two >&2").Ended()
	p := startShell(t, log, "echo three; echo four")
	<-p.Ended()
	for count, want := range map[int]string{0: "", 1: "four\n", 3: "two\nthree\nfour\n", 9: "one\ntwo\nthree\nfour\n"} {
		assert.Deep(t, fmt.Sprintf("last %d lines", count), want, string(p.LastLines(count)))
	}
}

func TestKillEndsWhatIgnoresSignals(t *testing.T) {
	p := startShell(t, filepath.Join(t.TempDir(), "log"), "trap '' TERM; exec sleep 1000")
	assert.Must(t, p.Signal(syscall.SIGSTOP))
	assert.Require(t, !p.HasEnded(), "it has ended before it was killed")
	assert.Must(t, p.Kill())
	assert.True(t, p.HasEnded(), "Kill returned before the end")
	assert.NoError(t, p.Signal(syscall.SIGTERM), "a signal for what has ended")
}
