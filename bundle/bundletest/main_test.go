//go:build realruntime

package bundletest

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/lifepod/lifepod/bundle"
	"github.com/lifepod/lifepod/internal/assert"
)

// holdRoot makes this program a process that holds a root open, as a lifepod
// command does.
const holdRoot = "BUNDLETEST_HOLD"

func TestMain(m *testing.M) {
	if root := os.Getenv(holdRoot); root != "" {
		if err := hold(root); err != nil {
			fmt.Println("error:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// hold opens the root, says so, reports restarts, and closes at the end of
// its input.
func hold(root string) error {
	ctx := context.Background()
	r, err := bundle.Open(ctx, bundle.Config{Root: root, Log: slog.Default()})
	if err != nil {
		return err
	}
	fmt.Println("open")
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		for bufio.NewScanner(os.Stdin).Scan() {
		}
	}()
	for {
		select {
		case <-r.Restarts():
			fmt.Println("restarted")
		case <-finished:
			return r.Close(ctx)
		}
	}
}

// holder is another process that holds a root open.
type holder struct {
	cmd   *exec.Cmd
	input interface{ Close() error }
	lines *bufio.Scanner
}

func startHolder(t *testing.T, root string) *holder {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), holdRoot+"="+root)
	cmd.Stderr = os.Stderr
	input := assert.Get(cmd.StdinPipe()).Must(t)
	output := assert.Get(cmd.StdoutPipe()).Must(t)
	assert.Must(t, cmd.Start())
	h := &holder{cmd: cmd, input: input, lines: bufio.NewScanner(output)}
	t.Cleanup(func() {
		_ = h.cmd.Process.Kill()
		_ = h.cmd.Wait()
	})
	h.hears(t, "open")
	return h
}

// hears waits for the process to say a line.
func (h *holder) hears(t *testing.T, want string) {
	t.Helper()
	for h.lines.Scan() {
		line := h.lines.Text()
		if line == want {
			return
		}
		assert.Require(t, !strings.HasPrefix(line, "error:"), "%v", line)
	}
	t.Fatalf("the holding process ended before it said %q", want)
}

// close lets the process close the root and end.
func (h *holder) close(t *testing.T) {
	t.Helper()
	_ = h.input.Close()
	assert.NoError(t, h.cmd.Wait(), "the holding process")
}

// kill is kill -9.
func (h *holder) kill(t *testing.T) {
	t.Helper()
	assert.Must(t, h.cmd.Process.Kill())
	_ = h.cmd.Wait() // reports the signal
}
