package handler

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/cri/crifake"
	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/lifecycle"
)

func runOf(h v1.LifecycleHandler) HookRun {
	return HookRun{
		Log: slog.New(slog.DiscardHandler), Handler: &h, PodIP: "127.0.0.1",
		Pod:       &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default", UID: "u-1"}},
		Container: &v1.Container{Name: "main"},
	}
}

func hookMust[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// inContainer lets the hook run in a container whose commands do this.
func (r HookRun) inContainer(t *testing.T, commands ...string) (HookRun, *crifake.Runtime) {
	t.Helper()
	runtime := crifake.New("image")
	runtime.Command("main", commands...)
	sandbox := hookMust(runtime.RunPodSandbox(t.Context(), &runtimeapi.RunPodSandboxRequest{Config: &runtimeapi.PodSandboxConfig{
		Metadata: &runtimeapi.PodSandboxMetadata{Name: "web"},
	}}))
	r.ContainerID = hookMust(runtime.CreateContainer(t.Context(), &runtimeapi.CreateContainerRequest{
		PodSandboxId: sandbox.PodSandboxId,
		Config:       &runtimeapi.ContainerConfig{Metadata: &runtimeapi.ContainerMetadata{Name: "main"}, Image: &runtimeapi.ImageSpec{Image: "image"}},
	})).ContainerId
	hookMust(runtime.StartContainer(t.Context(), &runtimeapi.StartContainerRequest{ContainerId: r.ContainerID}))
	r.Commands = NewRunner(runtime)
	return r, runtime
}

func hookText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func hookExec() v1.LifecycleHandler {
	return v1.LifecycleHandler{Exec: &v1.ExecAction{Command: []string{"drain", "$(NOW)"}}}
}

// TestHookExec: A-HOOK-2, B-HOOK-5: what a command's end means; it is not expanded
// and has no timeout.
func TestHookExec(t *testing.T) {
	for _, tc := range []struct{ name, does, want string }{
		{"success", "out=fine", ""},
		{"long", "after=5h", ""},
		{"failure", "exit=3 out=a err=b", `Exec lifecycle hook ([drain $(NOW)]) for Container "main" in Pod "web_default(u-1)" failed - error: command 'drain $(NOW)' exited with 3: b, message: "ab"`},
		{"can't be run", "error=no_such_file", `Exec lifecycle hook ([drain $(NOW)]) for Container "main" in Pod "web_default(u-1)" failed - error: failed to exec in container: no such file, message: ""`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, _ := runOf(hookExec()).inContainer(t, tc.does)
				_, err := r.Await(t.Context(), time.Time{})
				assert.True(t, hookText(err) == tc.want, "error %q, want %q", hookText(err), tc.want)
			})
		})
	}
}

// TestDeadline: B-HOOK-2, at its deadline a hook isn't awaited any more; its
// command goes on in the container, until that ends.
func TestDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, runtime := runOf(hookExec()).inContainer(t, "hang")
		ctx, cancel := context.WithCancel(t.Context())
		began := time.Now()
		_, err := r.Await(ctx, began.Add(30*time.Second))
		took := time.Since(began)
		assert.True(t, took == 30*time.Second && errors.Is(err, context.DeadlineExceeded), "%v after %v", err, took)
		cancel() // as everybody does whose call has returned
		time.Sleep(5 * time.Minute)
		calls := runtime.Calls()
		last := calls[len(calls)-1]
		assert.True(t, last.RPC == "ExecSync" && last.Took == 0, "the command was ended: %v after %v", last, last.Took)
		runtime.Exit("web/main", 143)
		time.Sleep(time.Second) // the call answers
	})
}

// TestCancelled: a hook that is given up ends at once, before its deadline too.
func TestCancelled(t *testing.T) {
	for _, tc := range []struct {
		name    string
		handler v1.LifecycleHandler
		want    string
	}{
		{"exec", hookExec(), `Exec lifecycle hook ([drain $(NOW)]) for Container "main" in Pod "web_default(u-1)" failed - error: context canceled, message: ""`},
		{"sleep", v1.LifecycleHandler{Sleep: &v1.SleepAction{Seconds: 60}}, `Sleep lifecycle hook (60) for Container "main" in Pod "web_default(u-1)" failed - error: container terminated before sleep hook finished`},
	} {
		for _, within := range []time.Duration{0, time.Minute} {
			t.Run(tc.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					r, _ := runOf(tc.handler).inContainer(t, "hang")
					ctx, cancel := context.WithCancel(t.Context())
					time.AfterFunc(time.Second, cancel)
					began, deadline := time.Now(), time.Time{}
					if within > 0 {
						deadline = began.Add(within)
					}
					_, err := r.Await(ctx, deadline)
					took := time.Since(began).Truncate(100 * time.Millisecond)
					assert.True(t, took == time.Second && hookText(err) == tc.want, "%v after %v", err, took)
				})
			})
		}
	}
}

// TestSleep: A-HOOK-5.
func TestSleep(t *testing.T) {
	for _, seconds := range []int64{0, 7} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			_, err := runOf(v1.LifecycleHandler{Sleep: &v1.SleepAction{Seconds: seconds}}).Await(t.Context(), began.Add(time.Minute))
			took := time.Since(began)
			assert.True(t, took == time.Duration(seconds)*time.Second && err == nil, "sleep %d took %v: %v", seconds, took, err)
		})
	}
}

// TestInvalid: A-HOOK-5, B-HOOK-5, a tcpSocket hook passes validation and fails.
func TestInvalid(t *testing.T) {
	_, err := runOf(v1.LifecycleHandler{TCPSocket: &v1.TCPSocketAction{Port: intstr.FromInt32(80)}}).Await(t.Context(), time.Time{})
	assert.True(t, strings.HasPrefix(hookText(err), "Cannot run handler: invalid handler: &LifecycleHandler{"), "error %v", err)
}

func get(server *httptest.Server, scheme v1.URIScheme) v1.LifecycleHandler {
	_, port, _ := net.SplitHostPort(server.Listener.Addr().String())
	return v1.LifecycleHandler{HTTPGet: &v1.HTTPGetAction{Path: "/bye", Scheme: scheme, Port: intstr.FromString(port), HTTPHeaders: []v1.HTTPHeader{
		{Name: "Authorization", Value: "secret"},
	}}}
}

// TestHookHTTPGet: A-HOOK-3, any answer is a success; a refusal is logged.
func TestHookHTTPGet(t *testing.T) {
	var seen *http.Request
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = r
		w.WriteHeader(http.StatusInternalServerError)
	}))
	defer server.Close()
	var log bytes.Buffer
	r := runOf(get(server, ""))
	r.Log = slog.New(slog.NewTextHandler(&log, nil))
	warnings, err := r.Await(t.Context(), time.Now().Add(time.Minute))
	assert.True(t, err == nil && len(warnings) == 0, "%v, %v", warnings, err)
	assert.True(t, seen.UserAgent() == "kube-lifecycle/1.37" && seen.URL.Path == "/bye" && seen.Header.Get("Authorization") == "secret",
		"the server was asked for %s with %v", seen.URL, seen.Header)
	assert.True(t, strings.Contains(log.String(), "status=500"), "log %q", log.String())
}

// TestHTTPGetFails: B-HOOK-5, no answer and no address are failures.
func TestHTTPGetFails(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	r := runOf(get(server, ""))
	server.Close()
	_, err := r.Await(t.Context(), time.Time{})
	want := `^HTTP lifecycle hook \(/bye\) for Container "main" in Pod "web_default\(u-1\)" failed - error: Get "http://127.0.0.1:\d+/bye": dial tcp 127.0.0.1:\d+: connect: connection refused$`
	assert.True(t, regexp.MustCompile(want).MatchString(hookText(err)), "error %q, want %q", hookText(err), want)
	r.PodIP = ""
	_, err = r.Await(t.Context(), time.Time{})
	assert.True(t, strings.HasSuffix(hookText(err), "failed - error: failed to find networking container: the pod has no address"), "error %q", hookText(err))
}

// TestFallback: A-HOOK-4, a server that speaks plain HTTP is asked so, without
// the password; one with a certificate, whoever signed it, is not.
func TestFallback(t *testing.T) {
	authorizations := make(chan string, 1)
	handler := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { authorizations <- r.Header.Get("Authorization") })
	plain, encrypted := httptest.NewServer(handler), httptest.NewTLSServer(handler)
	defer plain.Close()
	defer encrypted.Close()
	for _, tc := range []struct {
		name   string
		server *httptest.Server
		auth   string
		want   []lifecycle.Warning
	}{
		{"plain", plain, "", []lifecycle.Warning{{
			Reason:  "LifecycleHTTPFallback",
			Message: "request to HTTPS lifecycle hook " + plain.Listener.Addr().String() + " got HTTP response, retry with HTTP succeeded",
		}}},
		{"encrypted", encrypted, "secret", nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			warnings := assert.Get(runOf(get(tc.server, v1.URISchemeHTTPS)).Await(t.Context(), time.Time{})).Must(t)
			assert.Deep(t, "warnings", tc.want, warnings)
			assert.Equal(t, tc.auth, <-authorizations, "Authorization")
		})
	}
}

// lacking is a runtime that the first calls don't reach.
type lacking struct {
	runtimeapi.RuntimeServiceClient
	left int
}

func (l *lacking) ExecSync(ctx context.Context, in *runtimeapi.ExecSyncRequest, opts ...grpc.CallOption) (*runtimeapi.ExecSyncResponse, error) {
	if l.left > 0 {
		l.left--
		return nil, os.NewSyscallError("socket", unix.EMFILE)
	}
	return l.RuntimeServiceClient.ExecSync(ctx, in, opts...)
}

// TestLacking: A-HOOK-7: a hook that this machine could not run is run again every 500 ms, until there is no time left.
func TestLacking(t *testing.T) {
	for _, tc := range []struct {
		name  string
		lacks int
		took  time.Duration
		want  string
	}{
		{"it is there again", 3, 1500 * time.Millisecond, ""},
		{"it lacks until the deadline", 1000, time.Minute - 500*time.Millisecond, "too many open files"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, runtime := runOf(hookExec()).inContainer(t, "out=fine")
				r.Commands = NewRunner(&lacking{runtime, tc.lacks})
				began := time.Now()
				_, err := r.Await(t.Context(), began.Add(time.Minute))
				if took := time.Since(began).Truncate(100 * time.Millisecond); !strings.Contains(hookText(err), tc.want) || (err == nil) != (tc.want == "") || took != tc.took {
					t.Errorf("ended with %v after %v, want %q after %v", err, took, tc.want, tc.took)
				}
			})
		})
	}
}
