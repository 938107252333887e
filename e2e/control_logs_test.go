package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/lifepod/lifepod/internal/assert"
)

// TestLogs: what an instance wrote, the one before it, and all that comes, until
// the container has ended for good.
func TestLogs(t *testing.T) {
	t.Parallel()
	c := shared.startRun(t, pod("logs", `
restartPolicy: OnFailure
volumes: [{name: v, emptyDir: {}}]
initContainers:
`+shell("prep", "echo prepared >&2")+`
containers:
`+shell("main", `
n=$(cat /v/n 2>/dev/null || echo 0)
for i in 1 2 3; do echo run $n line $i; done
echo run $n end
until [ -e /v/go$n ]; do sleep 0.05; done
echo $((n + 1)) > /v/n
[ $n = 1 ] || exit 3`, mountV)+shell("other", waiter, mountV)))
	c.await(c.stdout, "run 0 end")
	follow := shared.start(t, "", "logs", "-f", "logs", "-c", "main")
	follow.await(follow.stdout, "run 0 end")
	nobody := shared.start(t, "", "logs", "-f", "logs", "-c", "other", "--tail", "0")
	shared.touch(t, "logs", "go0")
	c.await(c.stdout, "run 1 end")

	run := func(n int) string {
		return fmt.Sprintf("run %d line 1\nrun %[1]d line 2\nrun %[1]d line 3\nrun %[1]d end\n", n)
	}
	stamp := `(?m)^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z `
	for _, tc := range []struct{ args, want string }{
		{"-c main", run(1)},
		{"-c main -p", run(0)},
		{"-c main --previous --tail 2", "run 0 line 3\nrun 0 end\n"},
		{"-c prep --since 1h", "prepared\n"},
		{"-c main --since 1ns", ""},
		{"--all-containers --tail 1", "main | run 1 end\nprep | prepared\n"},
	} {
		got := shared.lifepod(t, "", append([]string{"logs", "logs"}, strings.Fields(tc.args)...)...)
		assert.True(t, got.code == 0 && got.stdout == tc.want,
			"logs %s: exit code %d, %q, want %q\n%s", tc.args, got.code, got.stdout, tc.want, got.stderr)
		got = shared.lifepod(t, "", append([]string{"logs", "logs", "--timestamps"}, strings.Fields(tc.args)...)...)
		lines := len(regexp.MustCompile(strings.ReplaceAll(stamp, "^", `^(?:\w+ \| )?`)).FindAllString(got.stdout, -1))
		assert.True(t, lines == strings.Count(tc.want, "\n"), "logs --timestamps %s: %d lines have a time\n%s", tc.args, lines, got.stdout)
	}
	shared.touch(t, "logs", "go1")
	follow.wait().want(t, 0, run(0)+run(1))
	nobody.signal(syscall.SIGINT)
	nobody.wait().want(t, 130, "")
	c.signal(syscall.SIGINT)
	c.wait()
	for args, want := range map[string]string{"-c main": run(1), "-c main -p --tail 1": "run 0 end\n", "--all-containers --tail 1 -f": "main | run 1 end\nprep | prepared\n"} {
		if got := shared.lifepod(t, "", append([]string{"logs", "logs"}, strings.Fields(args)...)...); got.code != 0 || got.stdout != want {
			t.Errorf("logs %s of the pod that has ended: exit code %d, %q, want %q\n%s", args, got.code, got.stdout, want, got.stderr)
		}
	}
}

// TestLogsFromTheStart: logs -f waits for a container whose turn it is not yet,
// and ends with the pod.
func TestLogsFromTheStart(t *testing.T) {
	t.Parallel()
	c := shared.startRun(t, pod("log-start", `
volumes: [{name: v, emptyDir: {}}]
initContainers:
`+shell("prep", "echo preparing; until [ -e /v/go ]; do sleep 0.05; done", mountV)+`
containers:
`+shell("main", "echo working\n"+waiter)))
	c.await(c.stdout, "preparing")
	got := shared.lifepod(t, "", "logs", "log-start", "-c", "main")
	assert.True(t, got.code == 125 &&
		got.stderr == "lifepod: container \"main\" in pod \"log-start\" is waiting to start: PodInitializing\n", "%+v", got)
	follow := shared.start(t, "", "logs", "-f", "log-start", "--all-containers")
	follow.await(follow.stdout, "prep . preparing")
	shared.touch(t, "log-start", "go")
	follow.await(follow.stdout, "main . working")
	shared.lifepod(t, "", "stop", "log-start")
	got = follow.wait()
	assert.True(t, got.code == 0 && got.stdout == "prep | preparing\nmain | working\n", "%+v", got)
	c.wait()
}

// touch makes a file in the emptyDir v of a pod, from outside: a command in a container
// that waits for the file may end with it before it has told of its success.
func (r *root) touch(t *testing.T, pod, file string) {
	t.Helper()
	volume := filepath.Join(r.dir, "pods", string(r.podNow(t, pod).UID), "volumes/kubernetes.io~empty-dir/v")
	assert.Must(t, os.WriteFile(filepath.Join(volume, file), nil, 0o600))
}
