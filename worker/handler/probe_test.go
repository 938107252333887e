package handler

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/cri/crifake"
	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/lifecycle"
)

// want is an outcome and a pattern that the whole output has.
type want struct {
	outcome lifecycle.ProbeOutcome
	output  string
}

func (w want) check(t *testing.T, got ProbeResult) {
	t.Helper()
	assert.True(t, got.Outcome == w.outcome && regexp.MustCompile(`^(?s:`+w.output+`)$`).MatchString(got.Output),
		"outcome %d, output %q, want %d, %q", got.Outcome, got.Output, w.outcome, w.output)
}

// on is an attempt of a probe of a pod at 127.0.0.1.
func on(p v1.ProbeHandler) ProbeAttempt {
	return ProbeAttempt{
		Probe: &v1.Probe{ProbeHandler: p, TimeoutSeconds: 1}, PodIP: "127.0.0.1", ContainerID: "c",
		Container: &v1.Container{Name: "main"},
	}
}

func portOf(address string) intstr.IntOrString {
	_, port, _ := net.SplitHostPort(address)
	return intstr.FromString(port)
}

// TestProbeHTTPGet: A-PROBE-10, what a status means and what is shown of an answer.
func TestProbeHTTPGet(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("/status/{code}", func(w http.ResponseWriter, r *http.Request) {
		code, _ := strconv.Atoi(r.PathValue("code"))
		w.WriteHeader(code)
		_, _ = w.Write([]byte("secret"))
	})
	mux.Handle("/away", http.RedirectHandler("http://other.example/", http.StatusFound))
	mux.Handle("/here", http.RedirectHandler("/status/204", http.StatusFound))
	mux.HandleFunc("/big", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(strings.Repeat("x", 20<<10))) })
	mux.HandleFunc("/hang", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	mux.HandleFunc("/stall", func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close) // after the parallel parts
	for _, tc := range []struct {
		path string
		want want
	}{
		{"/status/200", want{lifecycle.ProbeSuccess, "secret"}},
		{"/status/399", want{lifecycle.ProbeWarning, "Probe terminated redirects, Response body: secret"}},
		{"/status/400", want{lifecycle.ProbeFailure, "HTTP probe failed with statuscode: 400"}},
		{"/status/503", want{lifecycle.ProbeFailure, "HTTP probe failed with statuscode: 503"}},
		{"/here", want{lifecycle.ProbeSuccess, ""}},
		{"/away", want{lifecycle.ProbeWarning, `Probe terminated redirects, Response body: <a href="http://other.example/">Found</a>.\s*`}},
		{"/big", want{lifecycle.ProbeSuccess, strings.Repeat("x", 1000) + "+"}},
		{"/hang", want{lifecycle.ProbeFailure, `Get "http://127.0.0.1:\d+/hang": context deadline exceeded \(Client.Timeout exceeded while awaiting headers\)`}},
		{"/stall", want{lifecycle.ProbeFailure, `context deadline exceeded \(Client.Timeout or context cancellation while reading body\)`}},
	} {
		t.Run(tc.path, func(t *testing.T) {
			t.Parallel()
			got := on(v1.ProbeHandler{HTTPGet: &v1.HTTPGetAction{Path: tc.path, Port: portOf(server.Listener.Addr().String())}}).Make(t.Context())
			tc.want.check(t, got)
			assert.True(t, len(got.Output) <= 10<<10, "%d bytes of output", len(got.Output))
		})
	}
	t.Run("errors", func(t *testing.T) {
		want{lifecycle.ProbeError, `strconv.Atoi: parsing "web": invalid syntax`}.check(t,
			on(v1.ProbeHandler{HTTPGet: &v1.HTTPGetAction{Port: intstr.FromString("web")}}).Make(t.Context()))
		want{lifecycle.ProbeError, "missing probe handler for main"}.check(t, on(v1.ProbeHandler{}).Make(t.Context()))
	})
}

// TestNoAddress: A-PROBE-17: without an address the probe fails; it does not ask
// the machine instead.
func TestNoAddress(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	port := portOf(server.Listener.Addr().String())
	for _, p := range []v1.ProbeHandler{
		{HTTPGet: &v1.HTTPGetAction{Port: port}}, {TCPSocket: &v1.TCPSocketAction{Port: port}},
	} {
		a := on(p)
		a.PodIP = ""
		want{lifecycle.ProbeFailure, `.*dial tcp :\d+: the pod has no address`}.check(t, a.Make(t.Context()))
	}
}

// TestDialTimeout: A-PROBE-11: a connection that nobody answers fails in time.
func TestDialTimeout(t *testing.T) {
	l := assert.Get(unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)).Must(t) // nobody accepts, and its queue is full
	defer func() { _ = unix.Close(l) }()
	assert.Must(t, unix.Bind(l, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}))
	assert.Must(t, unix.Listen(l, 0))
	at := assert.Get(unix.Getsockname(l)).Must(t)
	a := on(v1.ProbeHandler{TCPSocket: &v1.TCPSocketAction{Port: intstr.FromInt32(int32(at.(*unix.SockaddrInet4).Port))}})
	var got ProbeResult
	for range 3 { // until the queue is full
		if got = a.Make(t.Context()); got.Outcome == lifecycle.ProbeFailure {
			break
		}
	}
	want{lifecycle.ProbeFailure, `dial tcp 127.0.0.1:\d+: i/o timeout`}.check(t, got)
}

// closedPort is a port on which nobody listens.
func closedPort(t *testing.T) intstr.IntOrString {
	t.Helper()
	l := assert.Get(net.Listen("tcp", "127.0.0.1:0")).Must(t)
	assert.Must(t, l.Close())
	return portOf(l.Addr().String())
}

// TestTCPSocket: A-PROBE-11, also over IPv6 and to a host of its own.
func TestTCPSocket(t *testing.T) {
	l := assert.Get(net.Listen("tcp", "[::]:0")).Must(t)
	defer func() { _ = l.Close() }()
	for _, tc := range []struct {
		name, host, podIP string
		port              intstr.IntOrString
		want              want
	}{
		{"IPv4", "", "127.0.0.1", portOf(l.Addr().String()), want{lifecycle.ProbeSuccess, ""}},
		{"IPv6", "", "::1", portOf(l.Addr().String()), want{lifecycle.ProbeSuccess, ""}},
		{"host", "127.0.0.1", "192.0.2.1", portOf(l.Addr().String()), want{lifecycle.ProbeSuccess, ""}},
		{"closed", "", "127.0.0.1", closedPort(t), want{lifecycle.ProbeFailure, `dial tcp 127.0.0.1:\d+: connect: connection refused`}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a := on(v1.ProbeHandler{TCPSocket: &v1.TCPSocketAction{Host: tc.host, Port: tc.port}})
			a.PodIP = tc.podIP
			tc.want.check(t, a.Make(t.Context()))
		})
	}
}

// TestGRPC: A-PROBE-12.
func TestGRPC(t *testing.T) {
	agents, ended := make(chan string, 10), make(chan struct{})
	defer close(ended)
	listen := func(register func(*grpc.Server)) int32 {
		l := assert.Get(net.Listen("tcp", "127.0.0.1:0")).Must(t)
		server := grpc.NewServer(grpc.UnaryInterceptor(func(ctx context.Context, in any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
			md, _ := metadata.FromIncomingContext(ctx)
			agents <- strings.Join(md.Get("user-agent"), ",")
			if in.(*grpc_health_v1.HealthCheckRequest).Service == "slow" {
				<-ended
			}
			return next(ctx, in)
		}))
		register(server)
		go func() { _ = server.Serve(l) }()
		t.Cleanup(server.Stop)
		return int32(l.Addr().(*net.TCPAddr).Port)
	}
	serving := listen(func(s *grpc.Server) {
		h := health.NewServer()
		h.SetServingStatus("sick", grpc_health_v1.HealthCheckResponse_NOT_SERVING)
		grpc_health_v1.RegisterHealthServer(s, h)
	})
	empty := listen(func(*grpc.Server) {})
	closed := int32(probeMust(strconv.Atoi(closedPort(t).StrVal)))
	deaf := assert.Get(net.Listen("tcp", "127.0.0.1:0")).Must(t) // takes connections, and speaks no HTTP/2
	defer func() { _ = deaf.Close() }()
	for _, tc := range []struct {
		name, service string
		port          int32
		want          want
	}{
		{"serving", "", serving, want{lifecycle.ProbeSuccess, "service healthy"}},
		{"not serving", "sick", serving, want{lifecycle.ProbeFailure, `service unhealthy \(responded with "NOT_SERVING"\)`}},
		{"unknown", "other", serving, want{lifecycle.ProbeFailure, `error: health rpc probe failed: rpc error: code = NotFound desc = unknown service`}},
		{"slow", "slow", serving, want{lifecycle.ProbeFailure, `timeout: health rpc did not complete within 1s`}},
		{"unimplemented", "", empty, want{lifecycle.ProbeFailure, `error: this server does not implement the grpc health protocol \(grpc.health.v1.Health\): unknown service grpc.health.v1.Health`}},
		{"closed", "", closed, want{lifecycle.ProbeFailure, `error: health rpc probe failed: rpc error: code = Unavailable desc = connection error: desc = "transport: Error while dialing: dial tcp 127.0.0.1:\d+: connect: connection refused"`}},
		{"deaf", "", int32(deaf.Addr().(*net.TCPAddr).Port), want{lifecycle.ProbeFailure, `timeout: failed to connect service "127.0.0.1:\d+" within 1s: context deadline exceeded`}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a := on(v1.ProbeHandler{GRPC: &v1.GRPCAction{Port: tc.port, Service: &tc.service}})
			tc.want.check(t, a.Make(t.Context()))
		})
	}
	agent := <-agents
	assert.True(t, strings.HasPrefix(agent, "kube-probe/1.37 grpc-go/"), "user agent %q", agent)
}

func probeMust[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// TestLate: what lifepod's own timers are late is measured, and nothing else.
func TestLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stop := watchLateness()
		time.Sleep(time.Hour)
		late := stop()
		assert.True(t, late == 0, "late by %v although every timer came when it was due", late)
	})
}

// probeRunning is a runtime in which a container main of a pod web runs.
func probeRunning(t *testing.T, commands ...string) (commander *Runner, id string) {
	t.Helper()
	r := crifake.New("image")
	r.Command("main", commands...)
	sandbox := probeMust(r.RunPodSandbox(t.Context(), &runtimeapi.RunPodSandboxRequest{Config: &runtimeapi.PodSandboxConfig{
		Metadata: &runtimeapi.PodSandboxMetadata{Name: "web"},
	}}))
	id = probeMust(r.CreateContainer(t.Context(), &runtimeapi.CreateContainerRequest{
		PodSandboxId: sandbox.PodSandboxId,
		Config:       &runtimeapi.ContainerConfig{Metadata: &runtimeapi.ContainerMetadata{Name: "main"}, Image: &runtimeapi.ImageSpec{Image: "image"}},
	})).ContainerId
	probeMust(r.StartContainer(t.Context(), &runtimeapi.StartContainerRequest{ContainerId: id}))
	return NewRunner(r), id
}

// TestProbeExec: A-PROBE-13, what a command's end means; its variables are replaced.
func TestProbeExec(t *testing.T) {
	for _, tc := range []struct {
		name, does string
		took       time.Duration // 0: at once
		want       want
	}{
		{name: "success", does: "out=fine", want: want{lifecycle.ProbeSuccess, "fine"}},
		{name: "failure", does: "exit=3 out=a err=b", want: want{lifecycle.ProbeFailure, "ab"}},
		{name: "much output", does: "exit=1 out=" + strings.Repeat("x", 20<<10), want: want{lifecycle.ProbeFailure, strings.Repeat("x", 640) + "+"}},
		{name: "timeout", does: "hang", took: time.Second, want: want{lifecycle.ProbeFailure, `command timed out: "check -v" timed out after 1s`}},
		{name: "can't be run", does: "error=no_such_file", want: want{lifecycle.ProbeError, "failed to exec in container: no such file"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := on(v1.ProbeHandler{Exec: &v1.ExecAction{Command: []string{"check", "$(MODE)"}}})
				a.Container.Env = []v1.EnvVar{{Name: "MODE", Value: "-v"}}
				a.Commands, a.ContainerID = probeRunning(t, tc.does)
				began := time.Now()
				got := a.Make(t.Context())
				tc.want.check(t, got)
				assert.True(t, len(got.Output) <= 10<<10, "%d bytes of output", len(got.Output))
				assert.Equal(t, tc.took, time.Since(began).Truncate(100*time.Millisecond), "took")
			})
		})
	}
}

// TestExecHeld: A-PROBE-13: of a command that has ended in time the exit code counts, and it is said that a process
// that it left held its output.
func TestExecHeld(t *testing.T) {
	const held = "the command has ended, but a process that it left held its output open for 2s, and was ended"
	want{lifecycle.ProbeWarning, held}.check(t, ended(&HeldError{Timeout: 2 * time.Second}, "fine"))
	want{lifecycle.ProbeFailure, `sick \(` + held + `\)`}.check(t,
		ended(&HeldError{Timeout: 2 * time.Second, Err: &ExitError{Code: 1}}, "sick"))
}

// TestExecIsGivenUp: the attempt ends with its context, at once.
func TestExecIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := on(v1.ProbeHandler{Exec: &v1.ExecAction{Command: []string{"check"}}})
		a.Probe.TimeoutSeconds = 3600
		a.Commands, a.ContainerID = probeRunning(t, "hang")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		a.Make(ctx)
		assert.Equal(t, time.Second, time.Since(began).Truncate(100*time.Millisecond), "took")
	})
}
