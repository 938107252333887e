package run

import (
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/e2e/terminal"
	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/internal/sentence"
	"github.com/lifepod/lifepod/journal"
	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/why"
)

// asProgram is the variable that has this binary be the program that the tests are about.
const asProgram = "LIFEPOD_TEST_LIVE"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		program()
		return
	}
	os.Exit(m.Run())
}

// program shows a pod that somebody pretends, until s or a signal.
func program() {
	pod := &v1.Pod{}
	pod.Namespace, pod.Name = "default", "web"
	pod.Spec.Containers = []v1.Container{{Name: "main"}}
	gate := NewGate(os.Stdout, sentence.English)
	over := make(chan os.Signal, 1)
	signal.Notify(over, unix.SIGTERM)
	fmt.Fprintln(gate, "before the view")
	l := OpenLive(NewView(pod, time.Now(), false), LiveConfig{
		In: os.Stdin, Out: os.Stdout, Gate: gate,
		Do: func(a Action) {
			fmt.Fprintf(gate, "asked to %s %s\n", a.Do, a.Container)
			if a.Do == Stop || a.Do == Interrupt {
				over <- unix.SIGTERM
			}
		},
		Explain: func() (why.Explanation, error) { return why.Explanation{}, errors.New("nobody-knows") },
		Stderr:  func(line string) { fmt.Fprintf(gate, "logged: %s\n", line) },
	})
	now := time.Now()
	l.Tell(func(v *View) {
		v.Now(pod, journal.Now{Phase: "Running", Stage: "syncing", Waits: []lifecycle.Wait{
			{Subject: "main", For: lifecycle.WaitBackOff, Since: now, Until: now.Add(time.Hour), Because: "exited-1"},
		}})
		v.Wrote("main", "stdout", "written-by-main\n")
	})
	if os.Getenv(asProgram) == "fail" {
		l.Tell(func(v *View) { go failSoon(l) })
	}
	<-over
	log.SetFlags(0)
	log.Print("a library logs") // to standard error
	time.Sleep(frame)
	l.Close()
	fmt.Fprintln(gate, "after the view")
}

// failSoon has the view panic once it is shown.
func failSoon(l *Live) {
	time.Sleep(5 * frame)
	l.mu.Lock()
	l.view = nil
	l.mu.Unlock()
}

// start starts the program between two looks at the terminal's state.
func start(t *testing.T, how string) (u *terminal.Terminal, same func() bool, pid func() int) {
	t.Helper()
	dir := t.TempDir()
	c := exec.Command("sh", "-c", `cd "$1"; stty -g > before; sh -c 'echo $$ > pid; exec "$0"' "$0"; stty -g > after`, os.Args[0], dir)
	c.Env = append(os.Environ(), asProgram+"="+how, "TERM=xterm-256color", "NO_COLOR=1")
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(dir, name))
		assert.True(t, err == nil && len(text) != 0, "read %s: %q, %v", name, text, err)
		return string(text)
	}
	pid = func() (pid int) {
		assert.Must(t, assert.ErrorOf(fmt.Sscan(read("pid"), &pid)))
		return pid
	}
	return terminal.Start(t, c), func() bool { return read("before") == read("after") }, pid
}

// over waits for the program's end, and holds that the terminal is as it was and has all lines.
func over(t *testing.T, u *terminal.Terminal, same func() bool, lines ...string) {
	t.Helper()
	u.End()
	assert.True(t, same() && u.Restored(), "the terminal is not as it was: %q", u.Text())
	text := u.Text()
	text = text[strings.LastIndex(text, "\x1b[?1049l"):]
	for _, line := range lines {
		assert.True(t, strings.Contains(text, line+"\r\n"), "the terminal lacks %q: %q", line, text)
	}
}

// TestKeysAndSizes: a user sees the pod, looks into it, resizes the terminal and stops it.
func TestKeysAndSizes(t *testing.T) {
	u, same, _ := start(t, "run")
	for _, text := range []string{"before the view", "\x1b[?1049h", "default/web", "back-off", "exited-1", "written-by-main", "q quit"} {
		u.Await(text)
	}
	u.Press("l")
	u.Await("log of main")
	u.Press("w")
	u.Await("nobody-knows")
	n := strings.Count(u.Text(), "default/web")
	u.Resize(10, 40)
	u.AwaitMore("default/web", n) // all of it is drawn again
	u.Press("\x1bOA")             // an arrow
	u.Press("r")
	u.Await("restarting main")
	u.Press("s")
	over(t, u, same, "asked to restart main", "asked to stop ", "logged: a library logs", "after the view")
}

// TestEndsCleanly: the terminal is as it was after Ctrl-C, a signal, and a failure of the view itself.
func TestEndsCleanly(t *testing.T) {
	u, same, _ := start(t, "run")
	u.Await("back-off")
	u.Press("\x03")
	over(t, u, same, "asked to interrupt ", "after the view")

	u, same, pid := start(t, "run")
	u.Await("back-off")
	assert.Must(t, unix.Kill(pid(), unix.SIGTERM))
	over(t, u, same, "after the view")

	u, same, pid = start(t, "fail")
	u.Await("back-off")
	u.Await("the live view has ended: ")
	assert.Must(t, unix.Kill(pid(), unix.SIGTERM))
	over(t, u, same, "after the view")
}

// TestGate: what comes while it is shut is written when it opens, the last of it.
func TestGate(t *testing.T) {
	var out strings.Builder
	g := NewGate(&out, sentence.English)
	write := func(text string) {
		n, err := io.WriteString(g, text)
		assert.True(t, n == len(text) && err == nil, "%d, %v", n, err)
	}
	write("a\n")
	g.Shut()
	write("b\nhalf")
	write(" a line\n")
	assert.Equal(t, "a\n", out.String(), "written while it is shut")
	g.Open()
	write("c\n")
	assert.Equal(t, "a\nb\nhalf a line\nc\n", out.String(), "written")
	out.Reset()
	g.Shut()
	for range mostHeldLines + 7 {
		write("x\n")
	}
	g.Open()
	if first, rest, _ := strings.Cut(out.String(), "\n"); !strings.HasPrefix(first, "… 7 earlier lines are left out") || rest != strings.Repeat("x\n", mostHeldLines) {
		t.Errorf("written: %d bytes, first %q", out.Len(), first)
	}
}

// TestUsable: neither a pipe nor a terminal without abilities, nor one that is another job's.
func TestUsable(t *testing.T) {
	ours, theirs, err := terminal.Open()
	assert.Must(t, err)
	defer func() { _, _ = ours.Close(), theirs.Close() }()
	pipe, other, err := os.Pipe()
	assert.Must(t, err)
	defer func() { _, _ = pipe.Close(), other.Close() }()
	assert.True(t, !LiveUsable(pipe, other, "xterm") && !LiveUsable(theirs, theirs, "dumb") && !LiveUsable(theirs, theirs, "") && !LiveUsable(theirs, theirs, "xterm"),
		"usable")
}
