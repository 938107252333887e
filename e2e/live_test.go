package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/lifepod/lifepod/e2e/machine"
	"github.com/lifepod/lifepod/e2e/terminal"
	"github.com/lifepod/lifepod/internal/assert"
)

// liveRun is a lifepod run on a user's terminal.
type liveRun struct {
	*terminal.Terminal
	t   *testing.T
	dir string
}

// runLive starts one; flags come before the manifest.
func runLive(t *testing.T, manifest string, flags ...string) *liveRun {
	t.Helper()
	l := &liveRun{t: t, dir: t.TempDir()}
	file := filepath.Join(l.dir, "pod.yaml")
	assert.Must(t, os.WriteFile(file, []byte(manifest), 0o600))
	const text = `cd "$0"; stty -g > before; sh -c 'echo $$ > pid; exec "$@"' sh "$@"; echo code=$?; stty -g > after`
	c := exec.Command("sh", append(append([]string{"-c", text, l.dir, binary, "--root", shared.dir, "run"}, flags...), file)...)
	c.Env = append(os.Environ(), "TERM=xterm-256color", "NO_COLOR=1")
	l.Terminal = terminal.Start(t, c)
	t.Cleanup(func() { // a test that failed leaves no pod
		if p, err := os.FindProcess(l.pid()); err == nil {
			_ = p.Signal(syscall.SIGQUIT)
			l.End()
		}
	})
	return l
}

func (l *liveRun) read(name string) string {
	text, err := os.ReadFile(filepath.Join(l.dir, name))
	assert.True(l.t, err == nil, "read %s: %v", name, err)
	return strings.TrimSpace(string(text))
}

func (l *liveRun) pid() int {
	pid := assert.Get(strconv.Atoi(l.read("pid"))).Must(l.t)
	return pid
}

// over waits for the end of lifepod, and holds that the terminal is as it was before, and that its
// last lines are these.
func (l *liveRun) over(code int, lines ...string) {
	l.t.Helper()
	l.End()
	text := l.Text()
	assert.True(l.t, l.read("before") == l.read("after") && l.Restored(), "the terminal is not as it was: %q", text)
	_, after, _ := strings.Cut(text, "\x1b[?1049l")
	before, _, _ := strings.Cut(text, "\x1b[?1049h")
	text = before + after // what is on the screen then
	for _, line := range append(lines, "code="+strconv.Itoa(code)) {
		assert.True(l.t, strings.Contains(text, line), "the terminal lacks %q: %q", line, text)
	}
}

// TestLiveView: a pod on a terminal is seen, and steered by keys; afterwards the terminal is as it was,
// and has the lines that it has without a view.
func TestLiveView(t *testing.T) {
	t.Parallel()
	l := runLive(t, pod("live", "terminationGracePeriodSeconds: 30\ncontainers:\n"+
		shell("main", `trap 'echo asked-to-end; sleep 1; exit 0' TERM; echo begun; while :; do sleep 0.1; done`)+
		shell("other", `printf '\033[2Jowned\n'; `+waiter)))
	for _, text := range []string{"\x1b[?1049h", "default/live", "Ready", "begun", "^[[2Jowned", "q quit"} {
		l.Await(text)
	}
	n := strings.Count(l.Text(), "default/live")
	l.Resize(20, 60)
	l.AwaitMore("default/live", n)
	l.Press("w")
	l.Await("main of default/live is running since")
	l.Press("w")
	l.Press("r")
	l.Await("main started (1st restart)")
	machine.Until(t, "a shell that has set its trap", func() bool {
		return strings.Contains(shared.lifepod(t, "", "logs", "live", "-c", "main").stdout, "begun")
	})
	l.Press("q")
	l.Await("Stop the pod and leave?")
	l.Press("x")
	l.Press("s")
	l.Await("stopping")
	l.over(130, "main | begun", "main started (1st restart)", "pod stop requested → grace 30s (asked for in the live view)", "main | asked-to-end", "other | ^[[2Jowned", "pod Succeeded")
}

// TestLiveViewEnds: the terminal is as it was also after a signal, when the pod ends by itself, and
// after an error.
func TestLiveViewEnds(t *testing.T) {
	t.Parallel()
	l := runLive(t, script("live-term", waiter))
	l.Await("\x1b[?1049h")
	l.Await("running")
	assert.Must(t, syscall.Kill(l.pid(), syscall.SIGTERM))
	l.over(130, "pod stop requested", "(SIGTERM)")

	l = runLive(t, script("live-exit", `until [ -e /tmp/go ]; do sleep 0.1; done; exit 7`))
	l.Await("\x1b[?1049h")
	l.Await("running")
	got := shared.lifepod(t, "", "exec", "live-exit", "--", "touch", "/tmp/go")
	assert.Require(t, got.code == 0, "exit code %d: %s", got.code, got.stderr)
	l.over(7, "main exited 7", "pod Failed")

	l = runLive(t, pod("live-error", "restartPolicy: Never\ninitContainers:\n"+shell("first", "sleep 3")+"containers:\n"+
		shell("main", "true", "securityContext: {runAsNonRoot: true}")), "--fail-fast")
	l.Await("\x1b[?1049h")
	l.over(125, "first started", "pod stop requested", "lifepod: pod default/live-error can't start: ")
}

// TestNoLiveView: --plain, a terminal without abilities, and output that goes elsewhere have lines.
func TestNoLiveView(t *testing.T) {
	t.Parallel()
	l := runLive(t, script("live-plain", "sleep 1.5; echo over"), "--plain")
	l.End()
	text := l.Text()
	assert.True(t, !strings.Contains(text, "\x1b[") && strings.Contains(text, "over\r\n") && strings.Contains(text, "code=0"), "with --plain: %q", text)
	user := terminal.Start(t, exec.Command("sh", "-c", `printf '%s' "$2" | "$0" --root "$1" run - ; echo code=$?`, binary, shared.dir, script("live-stdin", "sleep 1.5; echo over")))
	user.End()
	text = user.Text()
	assert.True(t, !strings.Contains(text, "\x1b[") && strings.Contains(text, "over\r\n") && strings.Contains(text, "code=0"), "from standard input: %q", text)
}

// TestLiveViewOfPull: how far an image is is on the row of the container that waits for it; a pod that is
// stopped then does not wait for it.
func TestLiveViewOfPull(t *testing.T) {
	t.Parallel()
	reg := newRegistry(t, "")
	image := reg.pushLayers(t, "live", 2)
	release := reg.stopHalfway()
	defer release()
	l := runLive(t, pod("live-pull", "containers:\n- {name: main, image: '"+image+"', command: [echo, hi]}"))
	for _, text := range []string{"\x1b[?1049h", "pulling", "MiB at", "layer "} {
		l.Await(text)
	}
	l.Press("q")
	l.Await("Stop the pod and leave?")
	l.Press("q")
	l.over(130, "pod stop requested")
}
