package main

import (
	"bufio"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/lifepod/lifepod/bundle/runtime/internal/assert"
)

// started runs a command until it has printed its first line, and so has its
// signal handlers.
func started(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	out := assert.Get(cmd.StdoutPipe()).Must(t)
	assert.Must(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatalf("%q ended before it was ready: %v", cmd.Args, err)
	}
}

func TestEndingSignals(t *testing.T) {
	b := newBox(t)
	for _, tt := range []struct {
		options string
		signal  syscall.Signal
		want    int
	}{
		{"", syscall.SIGTERM, 143},
		{"", syscall.SIGINT, 130},
		{"", syscall.SIGHUP, 129},
		{"", syscall.SIGQUIT, 131},
		{"", syscall.SIGUSR1, 138},
		{"", 37, 165}, // RTMIN+3, what systemd is stopped with
		{"--on-term 7", syscall.SIGTERM, 7},
		{"--on-term 0", syscall.SIGTERM, 0},
	} {
		cmd := b.command(append([]string{"eat-memory", "1Ki"}, strings.Fields(tt.options)...)...)
		started(t, cmd)
		assert.Must(t, cmd.Process.Signal(tt.signal))
		_ = cmd.Wait()
		assert.Equal(t, tt.want, cmd.ProcessState.ExitCode(), "%q, %v: exit code", tt.options, tt.signal)
	}
}

func TestIgnoreTerm(t *testing.T) {
	b := newBox(t)
	cmd := b.command("eat-memory", "1Ki", "--ignore-term")
	diagnostics := assert.Get(cmd.StderrPipe()).Must(t)
	started(t, cmd)
	assert.Must(t, cmd.Process.Signal(syscall.SIGTERM))
	line, err := bufio.NewReader(diagnostics).ReadString('\n')
	if want := "eat-memory: terminated ignored\n"; err != nil || line != want {
		t.Errorf("%q, %v; want %q", line, err, want)
	}
	assert.NoError(t, cmd.Process.Signal(syscall.Signal(0)), "it is gone")
}

// asInit runs a command as process 1 of a PID namespace with its own /proc.
func asInit(b box, args ...string) *exec.Cmd {
	cmd := b.command(args...)
	unshare := exec.Command("unshare", append([]string{"--pid", "--fork", "--mount-proc", "--kill-child", cmd.Path}, args[1:]...)...)
	unshare.Dir, unshare.Env = cmd.Dir, cmd.Env
	return unshare
}

func TestProcess1(t *testing.T) {
	b := newBox(t)
	for _, tt := range []struct {
		name string
		args []string
		out  string
		want int
	}{
		{"no trap", []string{"sh", "-c", `sh -c 'kill -TERM 1'; while true; do sleep 0.01; done`}, "", 143},
		{"trap", []string{"sh", "-c", `trap 'echo term; exit 0' TERM; sh -c 'kill -TERM 1'; while true; do sleep 0.01; done`}, "term\n", 0},
		{"exec", []string{"sh", "-c", `
			trap '' USR1
			sh -c 'while true; do kill -USR1 1; sleep 0.03; done' &
			while ! ps | grep -q '[SR] sleep 0.03'; do sleep 0.01; done
			exec eat-memory 1Ki`}, "", 138},
		{"orphans are reaped", []string{"sh", "-c", `
			sh -c 'sleep 1 & while ! ps | grep -q "[SR] sleep 1"; do :; done; exec true'
			while ps | grep -q '[SR] sleep 1'; do sleep 0.01; done
			while ps | grep -q '[0-9] Z \['; do sleep 0.01; done
			sh -c 'exit 4'; echo $?`}, "4\n", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cmd := asInit(b, tt.args...)
			out, err := cmd.Output()
			if cmd.ProcessState == nil {
				t.Fatal(err)
			}
			if got := cmd.ProcessState.ExitCode(); got != tt.want || tt.name != "exec" && string(out) != tt.out {
				t.Errorf("exit code %d, output %q; want %d, %q", got, out, tt.want, tt.out)
			}
		})
	}
}
