package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

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
	assert.True(t, strings.Contains(got.stdout, "Started   spec.containers{main}   Container started"), "events: %s%s", got.stdout, got.stderr)
	got = r.lifepod(t, "", "ps", "-a")
	assert.True(t, strings.Contains(got.stdout, "Failed   3 "), "ps -a: %s", got.stdout)
	log, err := os.ReadFile(filepath.Join(r.dir, "run.log"))
	assert.True(t, err == nil && strings.Contains(string(log), "\none | +") && strings.Contains(string(log), "pod Failed"), "log: %v\n%s", err, log)
	got = r.lifepod(t, "kind: Pod", "run", "-d", "-")
	assert.True(t, got.code == 125 && strings.Contains(got.stderr, "<stdin>"), "bad manifest: exit code %d: %s%s", got.code, got.stdout, got.stderr)
}
