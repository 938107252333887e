package agent

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/internal/assert"
)

// kubectlFails runs kubectl, which must fail, and returns what it complained about.
func (c *cluster) kubectlFails(args ...string) string {
	c.t.Helper()
	ctx := assert.Context(c.t, patience)
	out, err := plane.Kubectl(ctx, "", append([]string{"--namespace", c.namespace}, args...)...)
	assert.Require(c.t, err != nil, "kubectl %v had no error; it printed %q", args, out)
	return err.Error()
}

// TestLogs: of the container that runs, of the one before, and as they are written.
func TestLogs(t *testing.T) {
	t.Parallel()
	c := newCluster(t, shared)
	c.create(`
metadata: {name: pod}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - {name: main, image: TOOLBOX,
     command: [sh, -c, "if [ -e /v/again ]; then echo second; while [ ! -e /v/end ]; do sleep 0.05; done; echo last; exec sleep 3600; fi; touch /v/again; echo first; exit 1"],
     volumeMounts: [{name: v, mountPath: /v}], resources: {limits: {memory: 64Mi}}}
  volumes: [{name: v, emptyDir: {}}]
`)
	c.await("pod", "to run again", func(pod *v1.Pod) bool {
		s := pod.Status.ContainerStatuses
		return len(s) == 1 && s[0].RestartCount == 1 && s[0].State.Running != nil
	})
	assert.Deep(t, "log of the container before", "first\n", c.kubectl("logs", "pod", "--previous", "--follow"))
	c.awaitLine("pod", "second")
	c.kubectl("exec", "pod", "--", "touch", "/v/end")
	c.awaitLine("pod", "last")
	assert.Deep(t, "last line", "last\n", c.kubectl("logs", "pod", "--tail=1"))
	err := c.kubectlFails("logs", "pod", "--container=other")
	assert.True(t, strings.Contains(err, "container other is not valid for pod pod"), "log of a container that there isn't: %s", err)
}

// TestExec: input, both outputs and the exit code go through.
func TestExec(t *testing.T) {
	t.Parallel()
	c := newCluster(t, shared)
	c.create(sleeper)
	c.awaitReady("sleeper")
	ctx := assert.Context(t, patience)
	out, err := plane.Kubectl(ctx, "input\n", "--namespace", c.namespace, "exec", "--stdin", "sleeper", "--", "sh", "-c", "read a; echo got $a; echo complaint >&2; exit 7")
	diff := cmp.Diff("got input\n", out)
	assert.True(t, diff == "" && err != nil &&
		strings.Contains(err.Error(), "complaint") && strings.Contains(err.Error(), "exit code 7"), "output (-want +got):\n%s\nerror %v, want complaint and exit code 7", diff, err)
	shell := c.onTerminal("exec", "--stdin", "--tty", "sleeper", "--", "sh", "-c", "echo ready; read a; echo typed $a; exit 5")
	shell.Await("ready")
	shell.Press("keys\n")
	shell.Await("typed keys")
	assert.Deep(t, "exit code on a terminal", 5, shell.End())
}

// TestAttach: the terminal of a container's main process, as kubectl run opens it.
func TestAttach(t *testing.T) {
	t.Parallel()
	c := newCluster(t, shared)
	run := c.onTerminal("run", "shell", "--rm", "--stdin", "--tty", "--restart=Never", "--image=lifepod.dev/toolbox:1",
		`--overrides={"spec":{"nodeSelector":{"kubernetes.io/hostname":"`+c.node.Name+`"}}}`,
		"--", "sh", "-c", "read a; echo typed $a; read b; exit 3")
	run.Await("If you don't see a command prompt")
	run.Press("keys\n")
	run.Await("typed keys")
	run.Press("\n")
	run.End()
	assert.True(t, strings.Contains(run.Text(), `pod "shell" deleted`), "kubectl run showed %q, want it to delete the pod", run.Text())
}

// TestCopy: files get into a pod and out of it by the machine's tar.
func TestCopy(t *testing.T) {
	t.Parallel()
	c := newCluster(t, shared)
	c.create(`
metadata: {name: pod}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - name: main
    image: TOOLBOX
    command: [sleep, --on-term, "0", "3600"]
    env: [{name: PATH, value: "/bin:/usr/bin"}]
    volumeMounts:
    - {name: usr, mountPath: /usr, readOnly: true}
    - {name: lib, mountPath: /lib, readOnly: true}
    - {name: lib64, mountPath: /lib64, readOnly: true}
    - {name: scratch, mountPath: /scratch}
    resources: {limits: {memory: 64Mi}}
  volumes:
  - {name: usr, hostPath: {path: /usr}}
  - {name: lib, hostPath: {path: /lib}}
  - {name: lib64, hostPath: {path: /lib64, type: ""}}
  - {name: scratch, emptyDir: {}}
`)
	c.awaitReady("pod")
	dir := t.TempDir()
	assert.Must(t, os.MkdirAll(filepath.Join(dir, "there", "below"), 0o755))
	want := strings.Repeat("lifepod ", 100_000)
	assert.Must(t, os.WriteFile(filepath.Join(dir, "there", "below", "file"), []byte(want), 0o600))
	c.kubectl("cp", filepath.Join(dir, "there"), "pod:/scratch")
	c.kubectl("cp", "pod:/scratch/there", filepath.Join(dir, "back"))
	got, err := os.ReadFile(filepath.Join(dir, "back", "below", "file"))
	assert.True(t, err == nil && string(got) == want, "the file came back with %d bytes and error %v, want its %d bytes", len(got), err, len(want))
}

// TestPortForward: many requests at a time through one kubectl.
func TestPortForward(t *testing.T) {
	t.Parallel()
	c := newCluster(t, shared)
	c.create(`
metadata: {name: pod}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - {name: main, image: TOOLBOX, command: [serve, --port, "8080"], readinessProbe: {httpGet: {port: 8080}, periodSeconds: 1},
     resources: {limits: {memory: 64Mi}}}
`)
	c.awaitReady("pod")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	forward := plane.KubectlCommand(ctx, "--namespace", c.namespace, "port-forward", "pod/pod", ":8080", "--address=127.0.0.1")
	out := assert.Get(forward.StdoutPipe()).Must(t)
	assert.Must(t, forward.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	address, _, found := strings.Cut(strings.TrimPrefix(line, "Forwarding from "), " ")
	assert.Require(t, err == nil && found, "kubectl port-forward printed %q: %v", line, err)
	answers := make(chan error)
	for range 5 {
		go func() {
			answer, err := http.Get("http://" + address + "/")
			if err == nil {
				_, err = io.Copy(io.Discard, answer.Body)
				_ = answer.Body.Close()
			}
			answers <- err
		}()
	}
	for range 5 {
		assert.NoError(t, <-answers)
	}
	cancel()
	_ = forward.Wait() // it was killed
}
