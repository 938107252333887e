package cluster

import (
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lifepod/lifepod/internal/assert"
)

// holder is a process that has the lock of a cluster and does something on TERM.
func holder(t *testing.T, l *layout, onTerm string) *exec.Cmd {
	t.Helper()
	assert.Must(t, os.MkdirAll(l.file(""), 0o700))
	script := `trap '` + onTerm + `' TERM; exec 9<>"$1"; flock 9; echo $$ >&9; echo locked; while :; do sleep 0.05; done`
	command := exec.Command("sh", "-c", script, "sh", l.file("up.lock"))
	out := assert.Get(command.StdoutPipe()).Must(t)
	assert.Must(t, command.Start())
	assert.Must(t, assert.ErrorOf(out.Read(make([]byte, 1))))
	return command
}

// A process that ends is waited for; one that does not is killed, so that its pods can
// be ended.
func TestEndProcess(t *testing.T) {
	for onTerm, want := range map[string]string{"exit 0": "exit status 0", ":": "signal: killed"} {
		l := assert.Get(Config{Root: filepath.Join(t.TempDir(), "root"), Log: slog.New(slog.DiscardHandler)}.layout()).Must(t)
		command := holder(t, l, onTerm)
		ended, err := l.endProcess(t.Context(), time.Second)
		assert.NoError(t, err)
		_ = command.Wait() // its state says how it has ended
		assert.Deep(t, fmt.Sprintf("on TERM %q", onTerm), want, command.ProcessState.String())
		assert.True(t, strings.Contains(ended, "killed") == (onTerm == ":"), "on TERM %q: %q", onTerm, ended)
	}
}
