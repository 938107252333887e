package e2e

import (
	"bufio"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/lifepod/lifepod/cluster/e2e/instance"
	"github.com/lifepod/lifepod/e2e/machine"
	"github.com/lifepod/lifepod/internal/assert"
)

// signalAt starts lifepod up and sends it a signal when it logs that its start has come
// so far. It returns the exit code; -1 if a signal has ended it.
func signalAt(t *testing.T, root, listen, step string, signal syscall.Signal) int {
	t.Helper()
	ctx := assert.Context(t, patience)
	command := exec.CommandContext(ctx, up.Program, "up", "--root", root, "--listen", listen, "--node-name", instance.Node, "--log-level", "info")
	log := assert.Get(command.StderrPipe()).Must(t)
	assert.Must(t, command.Start())
	var text strings.Builder
	sent := false
	for lines := bufio.NewScanner(log); lines.Scan(); {
		text.WriteString(lines.Text() + "\n")
		if !sent && strings.Contains(lines.Text(), `msg="`+step+`"`) {
			sent = true
			assert.Must(t, command.Process.Signal(signal))
		}
	}
	_ = command.Wait() // the code says it
	assert.Require(t, sent && ctx.Err() == nil, "it came never so far as %q, or did not end:\n%s", step, text.String())
	if t.Failed() {
		t.Log(text.String())
	}
	return command.ProcessState.ExitCode()
}

// Ctrl-C while it starts ends all that has begun. The next one starts as if nothing
// had been, also after kill -9.
func TestInterruptedStart(t *testing.T) {
	t.Parallel()
	root := ownRoot(t)
	listen := assert.Get(freeAddress()).Must(t)
	for _, step := range []string{"etcd ready", "API server made", "API server serves"} {
		assert.Deep(t, fmt.Sprintf("Ctrl-C at %q: exit code", step), 130, signalAt(t, root, listen, step, syscall.SIGINT))
		left := (machine.Root{Dir: root}).Processes()
		assert.True(t, len(left) == 0, "Ctrl-C at %q leaves\n%s", step, strings.Join(left, "\n"))
		left = (machine.Root{Dir: root}).Mounts()
		assert.True(t, len(left) == 0, "Ctrl-C at %q leaves\n%s", step, strings.Join(left, "\n"))
	}
	for _, step := range []string{"API server made", "API server serves"} {
		assert.Deep(t, fmt.Sprintf("kill -9 at %q: exit code", step), -1, signalAt(t, root, listen, step, syscall.SIGKILL))
	}
	ctx := assert.Context(t, patience)
	i := &instance.Instance{Config: instance.Config{Program: up.Program, Root: root, Args: []string{"--listen", listen}}}
	assert.Must(t, i.Run(ctx))
	defer i.Stop()
	assert.Must(t, assert.ErrorOf(i.Kubectl(ctx, podOf("pod", podSpec("exec sleep --on-term 0 1h")), "apply", "-f", "-")))
	_, err := i.Kubectl(ctx, "", "wait", "pod/pod", "--for=condition=Ready", "--timeout="+patience.String())
	assert.True(t, err == nil, "%v\n%s", err, i.Log())
}
