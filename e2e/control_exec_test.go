package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/lifepod/lifepod/e2e/machine"
	"github.com/lifepod/lifepod/e2e/terminal"
	"github.com/lifepod/lifepod/internal/assert"
)

// TestExec: the command's output, input and exit code are the user's.
func TestExec(t *testing.T) {
	t.Parallel()
	c := shared.startReady(t, pod("exec", `
initContainers:
`+shell("side", waiter, "restartPolicy: Always")+`
containers:
`+shell("main", waiter)))
	for _, tc := range []struct {
		args, script, input string
		want                result
	}{
		{"-c main", "echo out; echo err >&2; exit 7", "", result{7, "out\n", "err\n"}},
		{"-c side", "hostname", "", result{0, "exec\n", ""}},
		{"-c main -i", "cat; exit 3", "one\ntwo", result{3, "one\ntwo", ""}},
		{"-c main -u 7:8", "id -u; id -g; echo err >&2; exit 7", "", result{7, "7\n8\n", "err\n"}},
		{"-c main -i -u 9", "id -u; cat; exit 3", "one\ntwo", result{3, "9\none\ntwo", ""}},
		{"-c main -u absent", "true", "", result{125, "", "lifepod: the container's /etc/passwd has no user \"absent\": want one of its, or a number\n"}},
		{"-c main", "cat", "nobody reads this", result{0, "", ""}},
		{"", "true", "", result{0, "", "Defaulted container \"main\" out of: main, side\n"}},
	} {
		args := append(append([]string{"exec", "exec"}, strings.Fields(tc.args)...), "--", "sh", "-c", tc.script)
		assert.Equal(t, tc.want, shared.lifepod(t, tc.input, args...), "%q", args)
	}
	for command, code := range map[string]int{"no-such-command": 127, "/etc": 126, "-u 7 no-such-command": 127} {
		words := strings.Fields(command)
		args := append(append([]string{"exec", "exec", "-c", "main"}, words[:len(words)-1]...), "--", words[len(words)-1])
		got := shared.lifepod(t, "", args...)
		assert.True(t, got.code == code && strings.HasPrefix(got.stderr, "lifepod: the command could not be started: "),
			"%s: %+v, want exit code %d", command, got, code)
	}
	large := strings.Repeat("0123456789abcdef", 1<<16)
	got := shared.lifepod(t, large, "exec", "exec", "-i", "-c", "main", "--", "cat")
	assert.True(t, got.stdout == large, "%d bytes came back of %d: %s", len(got.stdout), len(large), got.stderr)
	c.signal(syscall.SIGINT)
	c.wait()
}

// TestExecLeavesNothing: a command whose client goes away, by Ctrl-C or by kill
// -9, is ended with all that it started; others are not touched.
func TestExecLeavesNothing(t *testing.T) {
	t.Parallel()
	c := shared.startReady(t, pod("exec-left", "containers:\n"+shell("main", waiter,
		"readinessProbe: {exec: {command: [sh, -c, 'sleep 0.3; true']}, periodSeconds: 1, timeoutSeconds: 60}")))
	const kept, left = "31536001", "31536002" // seconds, which tell the processes
	stays := shared.start(t, "", "exec", "exec-left", "--", "sh", "-c", "sleep "+kept)
	machine.Until(t, "a command that stays", func() bool { return sleeping(kept) == 1 })
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGKILL, syscall.SIGKILL, syscall.SIGKILL} {
		client := shared.start(t, "", "exec", "exec-left", "--", "sh", "-c", "trap '' HUP; sleep "+left+" & sleep "+left+"; true")
		machine.Until(t, "a command", func() bool { return sleeping(left) == 2 })
		client.signal(signal)
		client.wait()
		machine.Until(t, fmt.Sprintf("its end after %v", signal), func() bool { return sleeping(left) == 0 })
	}
	assert.Deep(t, "processes of the other command that are left", 1, sleeping(kept))
	client := shared.start(t, "", "exec", "exec-left", "-u", "7", "--", "sh", "-c", "trap '' HUP; sleep "+left+" & sleep "+left+"; true")
	machine.Until(t, "another user's command", func() bool { return sleeping(left) == 2 })
	client.signal(syscall.SIGINT)
	client.wait()
	assert.Deep(t, "processes of another user's command that are left", 0, sleeping(left))
	shared.lifepod(t, "", "stop", "--force", "exec-left")
	stays.wait()
	c.wait()
}

// sleeping counts the processes that sleep for so many seconds.
func sleeping(seconds string) int { return len(processesOf("sleep " + seconds)) }

// TestExecTerminal: with -it the command has a terminal of the user's size, which
// follows; every key goes to it.
func TestExecTerminal(t *testing.T) {
	t.Parallel()
	c := shared.startReady(t, pod("exec-tty", "containers:\n"+shell("main", waiter)))
	session := terminal.Start(t, exec.Command(binary, "--root", shared.dir, "exec", "-it", "exec-tty", "--", "sh", "-c", `[ -t 0 ] && echo terminal; read x; echo "got $x"; sleep 31536003`))
	session.Await("terminal")
	sizeIs := func(rows, columns uint16) func() bool {
		return func() bool { return terminalSize("31536003") == [2]uint16{rows, columns} }
	}
	session.Press("hello\r")
	session.Await("got hello")
	machine.Until(t, "the terminal's size", sizeIs(30, 100))
	session.Resize(44, 122)
	machine.Until(t, "the terminal's new size", sizeIs(44, 122))
	session.Press("\x03") // Ctrl-C is the command's
	code := session.End()
	assert.True(t, code == 130, "exit code %d\n%s", code, session.Text())
	shared.lifepod(t, "", "stop", "--force", "exec-tty")
	c.wait()
}

// terminalSize is that of the terminal of the process that sleeps for so long.
func terminalSize(seconds string) [2]uint16 {
	for _, pid := range processesOf("sleep " + seconds) {
		terminal, err := os.OpenFile(fmt.Sprintf("/proc/%d/fd/0", pid), os.O_RDONLY|unix.O_NOCTTY, 0)
		if err != nil {
			continue
		}
		size, err := unix.IoctlGetWinsize(int(terminal.Fd()), unix.TIOCGWINSZ)
		_ = terminal.Close() // only read
		if err == nil {
			return [2]uint16{size.Row, size.Col}
		}
	}
	return [2]uint16{}
}

// TestAttach joins a container's own process, which outlives it.
func TestAttach(t *testing.T) {
	t.Parallel()
	c := shared.startReady(t, pod("attach", `
containers:
`+shell("main", "while read x; do echo got $x; done\n"+waiter, "stdin: true")))
	client := shared.start(t, "", "attach", "attach")
	again := shared.start(t, "one\n", "attach", "-i", "attach")
	c.await(c.stdout, "got one")
	again.wait()
	client.signal(syscall.SIGKILL)
	client.wait()
	got := shared.row(t, "attach")
	assert.True(t, strings.HasPrefix(got, "default attach 1/1 Running 0 "), "ps: %q", got)
	shared.lifepod(t, "", "stop", "--force", "attach")
	c.wait()
}

// TestAttachExitCode: the exit code of a container that ends is that of attach.
func TestAttachExitCode(t *testing.T) {
	t.Parallel()
	c := shared.startReady(t, pod("attach-exit", `
restartPolicy: Never
volumes: [{name: v, emptyDir: {}}]
containers:
`+shell("main", "until [ -e /v/end ]; do echo waiting; sleep 0.1; done; exit 7", mountV)))
	client := shared.start(t, "", "attach", "attach-exit")
	client.await(client.stdout, "waiting")
	shared.exec(t, "attach-exit", "main", "touch", "/v/end")
	client.wait().wantCode(t, 7)
	c.wait()
}

// TestExecShell: the carried image's shell prompts, and Ctrl-C ends what runs in it,
// so that the next line is not typed on the host.
func TestExecShell(t *testing.T) {
	t.Parallel()
	c := shared.startReady(t, pod("exec-shell", "containers:\n"+shell("main", waiter)))
	session := terminal.Start(t, exec.Command(binary, "--root", shared.dir, "exec", "-it", "exec-shell", "--", "sh"))
	session.Await("/ # ")
	session.Press("sleep 31536004\r")
	machine.Until(t, "a program of the user's", func() bool { return sleeping("31536004") == 1 })
	session.Press("\x03")
	machine.Until(t, "its end", func() bool { return sleeping("31536004") == 0 })
	session.Press("echo on $(hostname)\r")
	session.Await("on exec-shell")
	session.Press("exit 9\r")
	code := session.End()
	assert.True(t, code == 9, "exit code %d\n%s", code, session.Text())
	shared.lifepod(t, "", "stop", "--force", "exec-shell")
	c.wait()
}

// TestStopTimeout: who does not want to wait for ever for a pod's end says so.
func TestStopTimeout(t *testing.T) {
	t.Parallel()
	c := shared.startReady(t, pod("stop-timeout", "terminationGracePeriodSeconds: 3600\ncontainers:\n"+shell("main", stubborn)))
	c.await(c.stdout, "working")
	got := shared.lifepod(t, "", "stop", "stop-timeout", "--timeout", "1")
	assert.True(t, got.code == 124 && got.stderr == "lifepod: timed out after 1s: stopped waiting until the pod is gone\n", "%+v", got)
	shared.lifepod(t, "", "stop", "--force", "stop-timeout")
	c.wait()
}

// TestDebug: an ephemeral container in a pod that runs, with the pod's network
// and its target's processes, or without a target its own (A-ACT-5, A-CRI-5).
func TestDebug(t *testing.T) {
	t.Parallel()
	c := shared.startReady(t, pod("debugged", "containers:\n"+shell("main", waiter)))
	debug := func(input string, args ...string) result {
		return shared.lifepod(t, input, append([]string{"debug", "debugged", "--image", toolbox}, args...)...)
	}
	got := debug("", "--target", "main", "--", "sh", "-c", "hostname; cat /proc/1/cmdline; exit 5")
	assert.True(t, got.code == 5 && strings.HasPrefix(got.stdout, "debugged\nsh") && strings.Contains(got.stdout, "sleep 0.1"), "--target: %+v", got)
	const own = "read x; $x; cat /proc/1/cmdline; exit 6"
	got = debug("cat\nline\n", "-i", "--name", "piped", "--", "sh", "-c", own)
	want := (result{6, "line\nsh\x00-c\x00" + own + "\x00", "ephemeral container piped\n"})
	assert.True(t, got == want, "-i: got %+v, want %+v", got, want)
	debug("", "-d", "--name", "later", "--", "sleep", "infinity").want(t, 0, "")
	machine.Until(t, "a container that nobody attached to", func() bool {
		list := shared.podNow(t, "debugged").Status.EphemeralContainerStatuses
		return len(list) == 3 && list[1].State.Running != nil // sorted by name
	})
	shared.lifepod(t, "", "stop", "--force", "debugged")
	c.wait()
}
