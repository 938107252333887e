package server

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/worker/criconfig"
)

// fakeRuntime answers with the address of a streaming server.
type fakeRuntime struct {
	runtimeapi.RuntimeServiceClient
	url   string
	err   error
	asked []any
	gone  func() bool // the pod's sandboxes; nil: they are not
}

func (f *fakeRuntime) Exec(_ context.Context, r *runtimeapi.ExecRequest, _ ...grpc.CallOption) (*runtimeapi.ExecResponse, error) {
	f.asked = append(f.asked, fmt.Sprintf("exec %s %q in=%v out=%v err=%v tty=%v", r.ContainerId, r.Cmd, r.Stdin, r.Stdout, r.Stderr, r.Tty))
	return &runtimeapi.ExecResponse{Url: f.url}, f.err
}

func (f *fakeRuntime) Attach(_ context.Context, r *runtimeapi.AttachRequest, _ ...grpc.CallOption) (*runtimeapi.AttachResponse, error) {
	f.asked = append(f.asked, fmt.Sprintf("attach %s in=%v out=%v err=%v tty=%v", r.ContainerId, r.Stdin, r.Stdout, r.Stderr, r.Tty))
	return &runtimeapi.AttachResponse{Url: f.url}, f.err
}

func (f *fakeRuntime) PortForward(_ context.Context, r *runtimeapi.PortForwardRequest, _ ...grpc.CallOption) (*runtimeapi.PortForwardResponse, error) {
	f.asked = append(f.asked, fmt.Sprintf("portforward %s %v", r.PodSandboxId, r.Port))
	return &runtimeapi.PortForwardResponse{Url: f.url}, f.err
}

func (f *fakeRuntime) ExecSync(_ context.Context, r *runtimeapi.ExecSyncRequest, _ ...grpc.CallOption) (*runtimeapi.ExecSyncResponse, error) {
	f.asked = append(f.asked, fmt.Sprintf("execsync %s %q", r.ContainerId, r.Cmd))
	answer := &runtimeapi.ExecSyncResponse{Stdout: []byte("out"), Stderr: []byte("err")}
	if r.Cmd[0] == "false" {
		answer.ExitCode = 3
	}
	return answer, f.err
}

func (f *fakeRuntime) ListPodSandbox(_ context.Context, r *runtimeapi.ListPodSandboxRequest, _ ...grpc.CallOption) (*runtimeapi.ListPodSandboxResponse, error) {
	labels := map[string]string{criconfig.PodUIDLabel: "u1", criconfig.PodNameLabel: "web", criconfig.PodNamespaceLabel: "default"}
	if uid := r.Filter.LabelSelector[criconfig.PodUIDLabel]; uid != "" && uid != "u1" || f.gone != nil && f.gone() {
		return &runtimeapi.ListPodSandboxResponse{}, nil
	}
	return &runtimeapi.ListPodSandboxResponse{Items: []*runtimeapi.PodSandbox{
		{Id: "old", CreatedAt: 1, Labels: labels}, {Id: "new", CreatedAt: 2, Labels: labels}, {Id: "foreign"},
	}}, nil
}

func (f *fakeRuntime) ListContainers(context.Context, *runtimeapi.ListContainersRequest, ...grpc.CallOption) (*runtimeapi.ListContainersResponse, error) {
	labels := map[string]string{criconfig.PodUIDLabel: "u1", criconfig.PodNameLabel: "web", criconfig.PodNamespaceLabel: "default", criconfig.ContainerNameLabel: "main"}
	return &runtimeapi.ListContainersResponse{Containers: []*runtimeapi.Container{
		{Id: "c1", Labels: labels, Image: &runtimeapi.ImageSpec{Image: "img"}}, {Id: "foreign"},
	}}, nil
}

func streamConfig(t *testing.T, runtime *fakeRuntime) Config {
	t.Helper()
	node := &fakeNode{}
	pod := testPod(runningStatus(0))
	pod.Spec.Containers = append(pod.Spec.Containers, v1.Container{Name: "side", TTY: true})
	side := pod.Status.ContainerStatuses[0]
	side.Name, side.ContainerID = "side", "containerd://c2"
	pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, side)
	pod.Spec.InitContainers = []v1.Container{{Name: "init"}}
	node.set(pod)
	c := testConfig(t, node)
	c.Runtime = runtime
	return c
}

// TestStreamRequests: what the runtime is asked, and what is refused.
func TestStreamRequests(t *testing.T) {
	const noUpgrade = "500 Upgrade request required\n"
	none := []any(nil)
	for _, test := range []struct {
		path  string
		err   error
		asked []any
		want  string
	}{
		{"/exec/default/web/main?command=a&command=b+c&output=1&error=1", nil, []any{`exec c1 ["a" "b c"] in=false out=true err=true tty=false`}, noUpgrade},
		{"/exec/default/web/u1/main?command=a&input=1&output=1&error=1&tty=1", nil, []any{`exec c1 ["a"] in=true out=true err=false tty=true`}, noUpgrade},
		{"/exec/default/web/u2/main?command=a&output=1", nil, none, "404 pod not found"},
		{"/exec/default/web/init?command=a&output=1", nil, none, `500 container not found ("init")`},
		{"/exec/default/web/main?output=1", status.Error(codes.NotFound, "gone"), []any{`exec c1 [] in=false out=true err=false tty=false`}, "404 rpc error: code = NotFound desc = gone"},
		{"/exec/default/web/main?output=1", status.Error(codes.ResourceExhausted, "much"), []any{`exec c1 [] in=false out=true err=false tty=false`}, "429 rpc error: code = ResourceExhausted desc = much"},
		{"/attach/default/web/main?input=1&output=1&error=1", nil, []any{"attach c1 in=true out=true err=true tty=false"}, noUpgrade},
		{"/attach/default/web/side?input=1&output=1&error=1", nil, []any{"attach c2 in=true out=true err=false tty=true"}, noUpgrade},
		{"/attach/default/web/none?output=1", nil, none, "500 container none not found in pod web_default"},
		{"/portForward/default/web", nil, []any{"portforward new []"}, noUpgrade},
		{"/portForward/default/web/u1", nil, []any{"portforward new []"}, noUpgrade},
		{"/run/default/web/main?cmd=ls+-l", nil, []any{`execsync c1 ["ls" "-l"]`}, "200 outerr"},
		{"/run/default/web/u1/main?cmd=false", nil, []any{`execsync c1 ["false"]`}, "500 command 'false' exited with 3: err"},
	} {
		runtime := &fakeRuntime{url: "http://127.0.0.1:1/x", err: test.err}
		got := request1(t, streamConfig(t, runtime), http.MethodPost, test.path)
		assert.True(t, strings.HasPrefix(got, test.want), "%s: %q, want %q", test.path, got, test.want)
		assert.Deep(t, fmt.Sprintf("%s: asked", test.path), test.asked, runtime.asked)
	}
}

func TestRunningPods(t *testing.T) {
	want := `200 {"kind":"PodList","apiVersion":"v1","metadata":{},"items":[{"metadata":{"name":"web","namespace":"default","uid":"u1"},"spec":{"containers":[{"name":"main","image":"img","resources":{}}]},"status":{}}]}`
	diff := cmp.Diff(want, ask1(t, streamConfig(t, &fakeRuntime{}), "/runningpods/"))
	assert.True(t, diff == "", "-want +got:\n%s", diff)
}

func TestParsePorts(t *testing.T) {
	for _, test := range []struct {
		texts []string
		want  string
	}{
		{[]string{"80,81", "82"}, "[80 81 82] <nil>"},
		{nil, `[] query parameter "port" is required`},
		{[]string{""}, `[] query parameter "port" cannot be empty`},
		{[]string{"0"}, `[] port "0" must be > 0`},
		{[]string{"x"}, `[] unable to parse "x" as a port: strconv.ParseUint: parsing "x": invalid syntax`},
		{[]string{"65536"}, `[] unable to parse "65536" as a port: strconv.ParseUint: parsing "65536": value out of range`},
	} {
		ports, err := parsePorts(test.texts)
		assert.Equal(t, test.want, fmt.Sprint(ports, err), "%q", test.texts)
	}
}

// TestIdleStreams: a stream on which nothing moves ends after
// streamingConnectionIdleTimeout, one that is used does not.
func TestIdleStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		here, there := net.Pipe()
		l := &listener{idle: time.Minute, open: map[*conn]struct{}{}}
		c := &conn{Conn: here, listener: l}
		l.open[c] = struct{}{}
		watchHijacked(c, http.StateActive)
		time.Sleep(time.Hour)
		watchHijacked(c, http.StateHijacked)
		var read []string
		go func() {
			for {
				p := make([]byte, 9)
				n, err := there.Read(p)
				if err != nil {
					return
				}
				read = append(read, string(p[:n]))
			}
		}()
		for range 3 {
			time.Sleep(59 * time.Second)
			assert.NoError(t, assert.ErrorOf(c.Write([]byte("x"))))
		}
		time.Sleep(61 * time.Second)
		assert.Fails(t, assert.ErrorOf(c.Write([]byte("x"))), "the stream is still open")
		synctest.Wait()
		diff := cmp.Diff([]string{"x", "x", "x"}, read)
		assert.True(t, diff == "" && len(l.open) == 0, "%d open, read (-want +got):\n%s", len(l.open), diff)
	})
}
