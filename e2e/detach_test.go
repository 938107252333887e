package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lifepod/lifepod/e2e/machine"
	"github.com/lifepod/lifepod/e2e/terminal"
	"github.com/lifepod/lifepod/internal/assert"
)

// TestDetach: pods that run in the background are there once the command returns, and the commands of a terminal go on with them;
// what they do is in the log, each line with its pod. What is wrong is said at once, and nothing is started.
func TestDetach(t *testing.T) {
	t.Parallel()
	r := newRoot(t)
	waits := "echo $SAID; while [ ! -e /tmp/end ]; do sleep 0.1; done; exit 3"
	const account = "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: a}\n---\n"
	const warning = "warning: <stdin>:1: document 1: passed over: ServiceAccount a: there is no API server to talk to\n"
	if got := r.lifepod(t, account+script("one", waits), "run", "-d", "-e", "SAID=hello", "-"); got.code != 0 || got.stdout != "default/one\n" || got.stderr != warning {
		t.Fatalf("exit code %d: %s%s", got.code, got.stdout, got.stderr)
	}
	if got := r.lifepod(t, "", "wait", "one", "--for=condition=Ready"); got.code != 0 {
		t.Fatalf("wait: exit code %d: %s", got.code, got.stderr)
	}
	if got := r.lifepod(t, script("one", waits), "run", "-d", "-"); got.code != 125 || !strings.Contains(got.stderr, "one") || got.stdout != "" {
		t.Errorf("a second pod of that name: exit code %d: %s%s", got.code, got.stdout, got.stderr)
	}
	got := r.lifepod(t, "", "top")
	assert.True(t, regexp.MustCompile(`default +one +main +\d+m   [0-9.]+[KM]iB\n`).MatchString(got.stdout), "top: %s%s", got.stdout, got.stderr)
	got = r.lifepod(t, "", "exec", "one", "--", "touch", "/tmp/end")
	assert.Require(t, got.code == 0, "exec: exit code %d: %s", got.code, got.stderr)
	r.lifepod(t, "", "wait", "one", "--for=delete") // it may be gone already
	got = r.lifepod(t, "", "logs", "pod/one", "main")
	assert.True(t, got.stdout == "hello\n", "logs: %s%s", got.stdout, got.stderr)
	got = r.lifepod(t, "", "events", "one")
	assert.True(t, strings.Contains(got.stdout, "Started   main        Container started"), "events: %s%s", got.stdout, got.stderr)
	got = r.lifepod(t, "", "ps", "-a")
	assert.True(t, strings.Contains(got.stdout, "Failed   3 "), "ps -a: %s", got.stdout)
	log, err := os.ReadFile(filepath.Join(r.dir, "run.log"))
	assert.True(t, err == nil && strings.Contains(string(log), "\none | +") && strings.Contains(string(log), "pod Failed"), "log: %v\n%s", err, log)
	got = r.lifepod(t, "kind: Pod", "run", "-d", "-")
	assert.True(t, got.code == 125 && strings.Contains(got.stderr, "<stdin>"), "bad manifest: exit code %d: %s%s", got.code, got.stdout, got.stderr)
}

// TestDownDetached: lifepod down ends what runs in the background, also a Job that waits for its next try, without a pod.
func TestDownDetached(t *testing.T) {
	t.Parallel()
	r := newRoot(t)
	job := "apiVersion: batch/v1\nkind: Job\nmetadata: {name: retried}\nspec:\n  template:\n    spec: {restartPolicy: Never, containers: [{name: main, image: '" + toolbox + "', command: ['false']}]}\n"
	got := r.lifepod(t, job, "run", "-d", "-")
	assert.Require(t, got.code == 0, "exit code %d: %s%s", got.code, got.stdout, got.stderr)
	machine.Until(t, "the Job's pod has ended", func() bool {
		return r.lifepod(t, "", "ps", "-a", "-q").stdout != "" && r.lifepod(t, "", "ps", "-q").stdout == ""
	})
	assert.Deep(t, "down", result{0, "Stopped lifepod run -d with 0 pods. There was no pod to end.\n", ""}, r.lifepod(t, "", "down"), cmp.AllowUnexported(result{}))
}

// TestRunInput: the user talks to the container, whose end is the pod's, whatever its restart policy is; nothing that it has written is missing.
func TestRunInput(t *testing.T) {
	t.Parallel()
	r := newRoot(t)
	file := func(name, script string) string {
		path := filepath.Join(t.TempDir(), name)
		assert.Must(t, os.WriteFile(path, []byte(strings.ReplaceAll(pod(name, "containers:\n"+shell("main", script)), "TOOLBOX", toolbox)), 0o600))
		return path
	}
	talk := file("talk", `echo hello; while read x; do echo "got $x"; done; exit 5`)
	assert.Deep(t, "run -i", result{5, "hello\ngot a\ngot b\n", ""}, r.lifepod(t, "a\nb\n", "run", "-i", talk), cmp.AllowUnexported(result{}))
	session := terminal.Start(t, exec.Command(binary, "--root", r.dir, "run", "-it", file("shell", `[ -t 0 ] && echo terminal; read x; echo "got $x"; read x; exit 6`)))
	session.Press("one\r")
	session.Await("got one")
	session.Press("two\r")
	code := session.End()
	assert.True(t, code == 6, "exit code %d\n%s", code, session.Text())
	quick := terminal.Start(t, exec.Command(binary, "--root", r.dir, "run", "-it", file("quick", "echo done; exit 7")))
	code = quick.End()
	assert.True(t, code == 7 && strings.Contains(quick.Text(), "done"), "exit code %d\n%s", code, quick.Text())
	waits := r.start(t, "", "run", "-i", file("waits", "echo waiting; "+waiter))
	waits.await(waits.stdout, "waiting")
	waits.signal(syscall.SIGINT)
	waits.wait().wantCode(t, 130)
	assert.Deep(t, "ps", "no pod runs\n", r.lifepod(t, "", "ps").stderr)
}
