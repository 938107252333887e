package e2e

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	core "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/internal/must"
)

// kubectl exec on a terminal: what is typed and shown, and the exit code.
func TestExec(t *testing.T) {
	t.Parallel()
	s := newSpace(t, nil)
	s.create(podOf("pod", podSpec("exec sleep --on-term 0 1h")))
	s.pod("pod", "run", isReady)
	shell := s.onTerminal("exec", "-it", "pod", "--", "sh", "-c", "echo ready; read a; echo typed $a; exit 5")
	shell.Await("ready")
	shell.Press("keys\n")
	shell.Await("typed keys")
	if code := shell.End(); code != 5 {
		t.Errorf("exit code %d on a terminal, want 5", code)
	}
	_, err := s.try("", "exec", "pod", "--", "sh", "-c", "echo complaint >&2; exit 7")
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 7 || !strings.Contains(err.Error(), "complaint") {
		t.Errorf("error %v, want complaint and exit code 7", err)
	}
}

// kubectl attach: a container's own input, and logs as they are written, to the end.
func TestAttachAndLogs(t *testing.T) {
	t.Parallel()
	s := newSpace(t, nil)
	s.create(podOf("pod", podSpec("read a; echo typed $a; exit 0", "  stdin: true", "restartPolicy: Never")))
	s.pod("pod", "run", isReady)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	logs := s.command(ctx, "logs", "-f", "pod")
	var followed strings.Builder
	logs.Stdout = &followed
	must.Succeed(t, logs.Start())
	// What is attached may end before it shows the last line: the log has it.
	s.input("keys\n", "attach", "-i", "pod")
	if err := logs.Wait(); err != nil || followed.String() != "typed keys\n" {
		t.Errorf("log %q, %v, want what was typed", followed.String(), err)
	}
	if end := s.ended("pod"); end.ExitCode != 0 {
		t.Errorf("ended with %+v", end)
	}
}

// kubectl cp brings a folder there and back by the container's tar.
func TestCopy(t *testing.T) {
	t.Parallel()
	s := newSpace(t, nil)
	s.create(podOf("pod", podSpec("exec sleep --on-term 0 1h", `  env: [{name: PATH, value: "/bin:/usr/bin"}]
  volumeMounts:
  - {name: usr, mountPath: /usr, readOnly: true}
  - {name: lib, mountPath: /lib, readOnly: true}
  - {name: lib64, mountPath: /lib64, readOnly: true}
  - {name: scratch, mountPath: /scratch}
volumes:
- {name: usr, hostPath: {path: /usr}}
- {name: lib, hostPath: {path: /lib}}
- {name: lib64, hostPath: {path: /lib64, type: ""}}
- {name: scratch, emptyDir: {}}`)))
	s.pod("pod", "run", isReady)
	dir := t.TempDir()
	want := strings.Repeat("lifepod ", 100_000)
	must.Succeed(t, os.Mkdir(filepath.Join(dir, "there"), 0o755))
	must.Succeed(t, os.WriteFile(filepath.Join(dir, "there", "file"), []byte(want), 0o600))
	s.kubectl("cp", filepath.Join(dir, "there"), "pod:/scratch")
	s.kubectl("cp", "pod:/scratch/there", filepath.Join(dir, "back"))
	got, err := os.ReadFile(filepath.Join(dir, "back", "file"))
	if err != nil || string(got) != want {
		t.Errorf("the file came back with %d bytes and error %v, want its %d bytes", len(got), err, len(want))
	}
}

// kubectl port-forward brings requests to a Service's pod.
func TestPortForward(t *testing.T) {
	t.Parallel()
	s := newSpace(t, nil)
	s.create(podOf("pod", strings.Replace(podSpec("exec serve --port 8080"), "  image", "  readinessProbe: {httpGet: {port: 8080}, periodSeconds: 1}\n  image", 1)) + `
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: pod}, ports: [{port: 80, targetPort: 8080}]}
`)
	s.pod("pod", "be ready", isReady)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	forward := s.command(ctx, "port-forward", "service/web", ":80", "--address=127.0.0.1")
	out, err := forward.StdoutPipe()
	must.Succeed(t, err)
	must.Succeed(t, forward.Start())
	defer func() {
		cancel()
		_ = forward.Wait() // it was killed
	}()
	line, err := bufio.NewReader(out).ReadString('\n')
	address, _, found := strings.Cut(strings.TrimPrefix(line, "Forwarding from "), " ")
	if err != nil || !found {
		t.Fatalf("kubectl port-forward printed %q: %v", line, err)
	}
	answer, err := http.Get("http://" + address + "/hostname")
	must.Succeed(t, err)
	body, err := io.ReadAll(answer.Body)
	_ = answer.Body.Close()
	if diff := cmp.Diff("pod", strings.TrimSpace(string(body))); err != nil || diff != "" {
		t.Errorf("who answers: %v (-want +got):\n%s", err, diff)
	}
}

// kubectl debug puts a container into a pod that runs, which sees its processes.
func TestDebug(t *testing.T) {
	t.Parallel()
	s := newSpace(t, nil)
	s.create(podOf("pod", podSpec("exec sleep --on-term 0 1h")))
	s.pod("pod", "run", isReady)
	s.kubectl("debug", "pod", "--image=lifepod.dev/toolbox:1", "--container=look", "--target=main", "--profile=general", "--", "sh", "-c", "ps; exit 3")
	pod := s.pod("pod", "be looked at", func(p *core.Pod) bool {
		c := p.Status.EphemeralContainerStatuses
		return len(c) == 1 && c[0].State.Terminated != nil
	})
	if end := pod.Status.EphemeralContainerStatuses[0].State.Terminated; end.ExitCode != 3 || !isReady(pod) {
		t.Errorf("it ended with %+v, want exit code 3 and the pod ready", end)
	}
	if log := s.kubectl("logs", "pod", "-c", "look"); !strings.Contains(log, "sleep --on-term 0 1h") {
		t.Errorf("it saw\n%s\nwant what the container runs", log)
	}
}
