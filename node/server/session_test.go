package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/client-go/util/exec"
	cristreaming "k8s.io/cri-streaming/pkg/streaming/remotecommand"

	"github.com/lifepod/lifepod/control/streaming"
	"github.com/lifepod/lifepod/internal/assert"
)

// process is what a runtime's streaming server runs; cut breaks its connection.
type process func(ctx context.Context, in io.Reader, out, stderr io.Writer, cut func()) error

type asExecutor func(ctx context.Context, in io.Reader, out, stderr io.Writer) error

func (f asExecutor) ExecInContainer(ctx context.Context, _, _, _ string, _ []string, in io.Reader, out, stderr io.WriteCloser, _ bool, _ <-chan cristreaming.TerminalSize, _ time.Duration) error {
	return f(ctx, in, out, stderr)
}

// streamingServer is a runtime's.
func streamingServer(t *testing.T, wanted cristreaming.Options, run process) string {
	t.Helper()
	return connected(t, func(w http.ResponseWriter, r *http.Request, cut func()) {
		e := asExecutor(func(ctx context.Context, in io.Reader, out, stderr io.Writer) error {
			return run(ctx, in, out, stderr, cut)
		})
		cristreaming.ServeExec(w, r, e, "", "", "", nil, &wanted, 0, time.Minute, sessionProtocols)
	})
}

// connected serves with a way to break the connection of a request.
func connected(t *testing.T, handle func(w http.ResponseWriter, r *http.Request, cut func())) string {
	t.Helper()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handle(w, r, func() { _ = r.Context().Value(connKey{}).(net.Conn).Close() }) // which is what it is for
	}))
	s.Config.ConnContext = func(ctx context.Context, c net.Conn) context.Context { return context.WithValue(ctx, connKey{}, c) }
	s.Start()
	t.Cleanup(s.Close)
	return s.URL + "/token"
}

// sessionOn has a session of a client with a node's API.
func sessionOn(ctx context.Context, address, path string, o remotecommand.StreamOptions) error {
	path, query, _ := strings.Cut(path, "?")
	target := &url.URL{Scheme: "https", Host: address, Path: path, RawQuery: query}
	return streaming.Run(ctx, &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}, target, o)
}

// nodeWith is a node's API that runs until the test ends, or end is called.
func nodeWith(t *testing.T, c Config) (address string, end func()) {
	t.Helper()
	c.TLS = serving(t, newAuthority(t))
	s := assert.Get(New(c)).Must(t)
	assert.Must(t, s.Listen())
	return s.Addr().String(), assert.Serves(t, s.Serve)
}

// TestSessionsSayHowTheyEnd: bytes go both ways; a session that ends otherwise than by its process's end tells its client so. Silence
// would be a success.
func TestSessionsSayHowTheyEnd(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		idle time.Duration
		run  process
		end  bool // of the node, once something was written
		want string
	}{
		{"success", 0, func(context.Context, io.Reader, io.Writer, io.Writer, func()) error { return nil }, false, ""},
		{"exit code", 0, func(context.Context, io.Reader, io.Writer, io.Writer, func()) error {
			return exec.CodeExitError{Err: errors.New("exited"), Code: 9}
		}, false, "command terminated with exit code 9"},
		{"refused", 0, func(context.Context, io.Reader, io.Writer, io.Writer, func()) error {
			return errors.New("failed to exec in container: x")
		}, false, "Internal error occurred: error executing command in container: failed to exec in container: x"},
		{"runtime lost", 0, func(_ context.Context, _ io.Reader, _, _ io.Writer, cut func()) error {
			cut()
			return nil
		}, false, "the connection to the container runtime was lost"},
		{"idle", 200 * time.Millisecond, func(ctx context.Context, _ io.Reader, _, _ io.Writer, _ func()) error {
			<-ctx.Done()
			return nil
		}, false, "nothing has moved for 200ms (streamingConnectionIdleTimeout)"},
		{"end of the node", 0, func(ctx context.Context, _ io.Reader, _, _ io.Writer, _ func()) error {
			<-ctx.Done()
			return nil
		}, true, "the node's API is ending"},
	} {
		wanted := cristreaming.Options{Stdin: true, Stdout: true}
		c := streamConfig(t, &fakeRuntime{url: streamingServer(t, wanted, func(ctx context.Context, in io.Reader, out, stderr io.Writer, cut func()) error {
			text := make([]byte, 2)
			_, err := io.ReadFull(in, text)
			_, failed := io.WriteString(out, "out")
			// A session that is idle for too long may be over before that.
			assert.True(t, tc.idle > 0 || err == nil && string(text) == "in" && failed == nil, "%s: read %q, %v, %v", tc.name, text, err, failed)
			return tc.run(ctx, in, out, stderr, cut)
		})})
		c.Kubelet.StreamingConnectionIdleTimeout = metav1.Duration{Duration: tc.idle}
		address, end := nodeWith(t, c)
		var out strings.Builder
		heard := notifyingWriter{&out, sync.OnceFunc(func() {
			if tc.end {
				go end()
			}
		})}
		never, _ := io.Pipe()
		in := io.MultiReader(strings.NewReader("in"), never)
		err := sessionOn(t.Context(), address, "/exec/default/web/main?command=a&input=1&output=1", remotecommand.StreamOptions{Stdin: in, Stdout: heard})
		got := fmt.Sprint(err)
		assert.True(t, strings.Contains(got, tc.want) && (tc.want != "" || err == nil), "%s: %v, want %q", tc.name, err, tc.want)
		assert.True(t, tc.name == "runtime lost" || tc.idle > 0 || out.String() == "out", "%s: %q was written", tc.name, &out)
		end()
	}
}

// notifyingWriter says that something was written.
type notifyingWriter struct {
	io.Writer
	wrote func()
}

func (w notifyingWriter) Write(p []byte) (int, error) {
	defer w.wrote()
	return w.Writer.Write(p)
}

// TestOldWebSockets: a client of the protocol before v5 has channels for all streams; the runtime gets those that were asked for.
func TestOldWebSockets(t *testing.T) {
	t.Parallel()
	for query, wanted := range map[string]cristreaming.Options{
		"output=1":                 {Stdout: true},
		"input=1&output=1":         {Stdin: true, Stdout: true},
		"output=1&error=1":         {Stdout: true, Stderr: true},
		"input=1&output=1&error=1": {Stdin: true, Stdout: true, Stderr: true},
	} {
		c := streamConfig(t, &fakeRuntime{url: streamingServer(t, wanted, func(_ context.Context, in io.Reader, out, stderr io.Writer, _ func()) error {
			assert.Equal(t, wanted, (cristreaming.Options{Stdin: in != nil, Stdout: out != nil, Stderr: stderr != nil}), "%s: the runtime got streams", query)
			_, err := io.WriteString(out, "out")
			return err
		})})
		address, end := nodeWith(t, c)
		config := &rest.Config{Host: address, TLSClientConfig: rest.TLSClientConfig{Insecure: true}}
		e, err := remotecommand.NewWebSocketExecutorForProtocols(config, http.MethodGet, "https://"+address+"/exec/default/web/main?command=a&"+query, "v4.channel.k8s.io")
		assert.Must(t, err)
		var out strings.Builder
		o := remotecommand.StreamOptions{Stdout: &out}
		if wanted.Stdin {
			o.Stdin = strings.NewReader("")
		}
		if wanted.Stderr {
			o.Stderr = io.Discard
		}
		err = e.StreamWithContext(t.Context(), o)
		assert.True(t, err == nil && out.String() == "out", "%s: %q, %v", query, &out, err)
		end()
	}
}

// TestClientGone: the runtime learns that a client has gone; it then has nobody to write to.
func TestClientGone(t *testing.T) {
	t.Parallel()
	began, gone := make(chan struct{}), make(chan struct{})
	c := streamConfig(t, &fakeRuntime{url: streamingServer(t, cristreaming.Options{Stdin: true, Stdout: true}, func(_ context.Context, in io.Reader, _, _ io.Writer, _ func()) error {
		close(began)
		_, _ = io.Copy(io.Discard, in) // until the connection ends
		close(gone)
		return nil
	})})
	address, _ := nodeWith(t, c)
	ctx, leave := context.WithCancel(t.Context())
	go func() { <-began; leave() }()
	never, _ := io.Pipe()
	_ = sessionOn(ctx, address, "/exec/default/web/main?command=a&input=1&output=1", remotecommand.StreamOptions{Stdin: never, Stdout: io.Discard})
	<-gone
}

// TestNothingIsMissing: who reads a container's log and then attaches gets all of its output once, whatever of it the runtime gives.
func TestNothingIsMissing(t *testing.T) {
	t.Parallel()
	const read = "2026-01-02T03:04:01Z stdout F one\n2026-01-02T03:04:01Z stderr F err\n"
	const between = "2026-01-02T03:04:02Z stdout F two\n"
	const late = "2026-01-02T03:04:03Z stdout F three\n2026-01-02T03:04:04Z stdout F four\n2026-01-02T03:04:05Z stderr F worse\n"
	for _, tc := range []struct {
		name string
		live string // what the runtime gives of stdout
		want string
	}{
		{"nothing given", "", "two\nthree\nfour\n|worse\n"},
		{"the end given", "four\n", "two\nfour\nthree\n|worse\n"},
		{"all given", "three\nfour\n", "two\nthree\nfour\n|worse\n"},
	} {
		node := &fakeNode{logs: t.TempDir()}
		log := filepath.Join(node.logs, "main", "0.log")
		status := runningStatus(0)
		status.State.Running.StartedAt = metav1.Now()
		node.set(testPod(status))
		c := testConfig(t, node)
		wanted := cristreaming.Options{Stdin: true, Stdout: true, Stderr: true}
		c.Runtime = &fakeRuntime{url: streamingServer(t, wanted, func(_ context.Context, _ io.Reader, out, _ io.Writer, _ func()) error {
			put(t, log, read+between+late)
			_, err := io.WriteString(out, tc.live)
			ended := testPod(runningStatus(0))
			ended.Status.ContainerStatuses[0].State = v1.ContainerState{Terminated: &v1.ContainerStateTerminated{}}
			node.set(ended)
			c.Changes.Changed("u1")
			return err
		})}
		address, end := nodeWith(t, c)
		put(t, log, read)
		client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}}
		answer := assert.Get(client.Get("https://" + address + "/containerLogs/default/web/main")).Must(t)
		text, err := io.ReadAll(answer.Body)
		assert.True(t, err == nil && string(text) == "one\nerr\n", "the log: %q, %v", text, err)
		_ = answer.Body.Close() // only read
		put(t, log, read+between)
		var out, stderr strings.Builder
		err = sessionOn(t.Context(), address, "/attach/default/web/main?input=1&output=1&error=1", remotecommand.StreamOptions{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &stderr})
		got := out.String() + "|" + stderr.String()
		assert.True(t, err == nil && got == tc.want, "%s: %q, %v, want %q", tc.name, got, err, tc.want)
		end()
	}
}

func put(t *testing.T, path, text string) {
	t.Helper()
	assert.NoError(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)))
}
