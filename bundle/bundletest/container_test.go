//go:build realruntime

package bundletest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/internal/assert"
)

// watchRunc has a script in runc's place note how it is called, but for what containerd asks of
// it once. It returns the program itself, and what it was called with since.
func watchRunc(t *testing.T, runc string) (program string, calls func() string) {
	t.Helper()
	program, log := filepath.Join(t.TempDir(), "runc"), filepath.Join(t.TempDir(), "calls")
	text, err := os.ReadFile(runc)
	assert.Must(t, err)
	script := fmt.Sprintf("#!/bin/sh\n[ \"$1\" = features ] || echo \"$@\" >>%s\nexec %s \"$@\"\n", log, program)
	assert.Must(t, os.WriteFile(program, text, 0o700), os.Remove(runc), os.WriteFile(runc, []byte(script), 0o700))
	return program, func() string {
		said, err := os.ReadFile(log)
		assert.Require(t, err == nil || errors.Is(err, fs.ErrNotExist), "%v", err)
		return string(said)
	}
}

// Runc is not executed for a container's life, but knows it as its own all the while.
func TestRuncIsNotExecuted(t *testing.T) {
	root := newRoot(t)
	r := open(t, root)
	runc, calls := watchRunc(t, r.Paths().Runc())
	p := runPod(t, r)
	answer, err := p.client.ExecSync(t.Context(), &cri.ExecSyncRequest{
		ContainerId: p.container, Cmd: []string{"/bin/sh", "-c", "echo out; exit 7"}, Timeout: 60,
	})
	assert.True(t, err == nil && answer.GetExitCode() == 7 && string(answer.GetStdout()) == "out\n", "exec: %v, %v", answer, err)
	states := filepath.Join(r.Paths().RunDir, "runc/k8s.io")
	if state := runcState(t, runc, states, p.container); state.Status != "running" || state.Pid != p.containerPID(t) || state.Bundle == "" {
		t.Errorf("runc says of the container: %+v, want running with process %d", state, p.containerPID(t))
	}
	out, err := exec.Command(runc, "--root", states, "exec", p.container, "/bin/echo", "by runc").CombinedOutput()
	assert.True(t, err == nil && string(out) == "by runc\n", "runc exec: %v: %s", err, out)
	assert.NoError(t, assert.ErrorOf(p.client.StopContainer(t.Context(), &cri.StopContainerRequest{ContainerId: p.container, Timeout: 60})))
	assert.NoError(t, assert.ErrorOf(p.client.RemoveContainer(t.Context(), &cri.RemoveContainerRequest{ContainerId: p.container})))
	if left, err := filepath.Glob(states + "/*"); err != nil || len(left) > 0 {
		t.Errorf("the container is removed, runc still has %q, %v", left, err)
	}
	p.remove(t)
	assert.Equal(t, "", calls(), "runc was executed")
	closeRuntime(t, r)
}

// runcState is what runc says of a container.
func runcState(t *testing.T, runc, states, container string) (state struct {
	Status, Bundle string
	Pid            int
}) {
	t.Helper()
	out, err := exec.Command(runc, "--root", states, "state", container).CombinedOutput()
	assert.True(t, err == nil && json.Unmarshal(out, &state) == nil, "runc state: %v: %s", err, out)
	return state
}

// A program that can't be executed is refused in the words that runc has for it, and leaves nothing.
func TestProgramIsMissing(t *testing.T) {
	r := open(t, newRoot(t))
	p := runPod(t, r)
	_, err := p.client.ExecSync(t.Context(), &cri.ExecSyncRequest{ContainerId: p.container, Cmd: []string{"/bin/none"}, Timeout: 60})
	const want = `exec failed: unable to start container process: exec: "/bin/none": stat /bin/none: no such file or directory`
	assert.True(t, err != nil && strings.Contains(err.Error(), want), "exec: %v", err)
	p.remove(t)
	closeRuntime(t, r)
}
