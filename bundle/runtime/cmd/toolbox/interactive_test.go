package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/lifepod/lifepod/bundle/runtime/internal/assert"
)

// keyboard is a user at a terminal with a shell.
type keyboard struct {
	t   *testing.T
	pty *os.File
	cmd *exec.Cmd

	mu   sync.Mutex
	text string // that the user has seen
	seen int    // of it, what was awaited
}

// openTerminal gives both ends of a new terminal.
func openTerminal(t *testing.T) (pty, tty *os.File) {
	t.Helper()
	pty = assert.Get(os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)).Must(t)
	t.Cleanup(func() { _ = pty.Close() })
	assert.Must(t, unix.IoctlSetPointerInt(int(pty.Fd()), unix.TIOCSPTLCK, 0))
	n := assert.Get(unix.IoctlGetInt(int(pty.Fd()), unix.TIOCGPTN)).Must(t)
	tty = assert.Get(os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)).Must(t)
	return pty, tty
}

func (b box) atTerminal(t *testing.T, args ...string) *keyboard {
	t.Helper()
	pty, tty := openTerminal(t)
	k := &keyboard{t: t, pty: pty, cmd: b.command(args...)}
	k.cmd.Stdin, k.cmd.Stdout, k.cmd.Stderr = tty, tty, tty
	k.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	assert.Must(t, k.cmd.Start())
	_ = tty.Close()
	go func() {
		for buffer := make([]byte, 1024); ; {
			n, err := pty.Read(buffer)
			k.mu.Lock()
			k.text += string(buffer[:n])
			k.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	return k
}

// types sends keys and waits for what is shown then.
func (k *keyboard) types(keys, want string) {
	k.t.Helper()
	assert.Must(k.t, assert.ErrorOf(k.pty.WriteString(keys)))
	k.sees(want)
}

func (k *keyboard) sees(want string) {
	k.t.Helper()
	for late := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		k.mu.Lock()
		fresh := k.text[k.seen:]
		at := regexp.MustCompile(want).FindStringIndex(fresh)
		if at != nil {
			k.seen += at[1]
		}
		k.mu.Unlock()
		if at != nil {
			return
		}
		assert.Require(k.t, !time.Now().After(late), "never seen: %q, but %q", want, fresh)
	}
}

// An interactive shell prompts; Ctrl-C ends what runs or is typed, not the shell.
func TestInteractiveShell(t *testing.T) {
	b := newBox(t)
	k := b.atTerminal(t, "sh")
	prompt := regexp.QuoteMeta(b.work) + ` [#$] $`
	k.sees(prompt)
	k.types("echo $((20+3))\n", `\r\n23\r\n`+prompt)
	k.types("\n", prompt)
	k.types("for i in a b; do\n", `> $`)
	k.types("echo got-$i; done\n", `got-a\r\ngot-b\r\n`+prompt)
	k.types("sleep 1000\n", `sleep 1000\r\n`)
	awaitChild(t, k.cmd.Process.Pid)
	k.types("\x03", prompt)
	k.types("echo code $?\n", `code 130\r\n`+prompt)
	k.types("echo started; while true; do :; done\n", `\nstarted\r\n`)
	k.types("\x03", prompt)
	k.types("echo half a li\x03", prompt)
	k.types("for i in x\x03", prompt)
	k.types("echo )\n", `sh: .*\r\n`+prompt)
	k.types("\x1c", `\^\\`) // Ctrl-\ ends nothing
	k.types("sleep 1000 & echo in the back\n", `\nin the back\r\n`+prompt)
	k.types("trap 'echo by the trap' INT; echo set\n", `\nset\r\n`+prompt)
	k.types("cd /; pwd\n", `\n/\r\n/ [#$] $`)
	k.types("exit 3\n", ``)
	if err := k.cmd.Wait(); err == nil || k.cmd.ProcessState.ExitCode() != 3 {
		t.Errorf("ended with %v, want exit code 3", err)
	}
}

// An interrupt that is reported late, when the next line is typed already, breaks no line.
func TestLateInterrupt(t *testing.T) {
	k := newBox(t).atTerminal(t, "sh")
	k.sees(`[#$] $`)
	for range 300 {
		assert.Must(t, assert.ErrorOf(k.pty.WriteString("echo word > /dev/null\n")))
		assert.Must(t, k.cmd.Process.Signal(unix.SIGINT))
	}
	k.types("echo the $((1+1))nd\n", `the 2nd\r\n`)
	k.types("exit\n", ``)
	_ = k.cmd.Wait()
	k.mu.Lock()
	defer k.mu.Unlock()
	assert.Equal(t, "", regexp.MustCompile(`\n.*not found`).FindString(k.text), "a line lost its beginning")
}

// Ctrl-D ends the shell with the code of the last command.
func TestInteractiveShellEnds(t *testing.T) {
	k := newBox(t).atTerminal(t, "sh")
	k.sees(`[#$] $`)
	k.types("trap 'echo bye' EXIT; false\n", `[#$] $`)
	k.types("\x04", `bye`)
	if _ = k.cmd.Wait(); k.cmd.ProcessState.ExitCode() != 1 {
		t.Errorf("exit code %d, want 1", k.cmd.ProcessState.ExitCode())
	}
}

// awaitChild waits until a process has a child that has become its program.
func awaitChild(t *testing.T, parent int) {
	t.Helper()
	for late := time.Now().Add(time.Minute); time.Now().Before(late); time.Sleep(time.Millisecond) {
		lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", parent))
		for _, list := range lists {
			children, _ := os.ReadFile(list)
			for pid := range strings.FieldsSeq(string(children)) {
				name, _ := os.ReadFile("/proc/" + pid + "/cmdline")
				if strings.HasPrefix(string(name), "sleep") {
					return
				}
			}
		}
	}
	t.Fatal("no child")
}
