package e2e

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/client-go/transport/spdy"
	"k8s.io/client-go/util/exec"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	kubeletconfig "k8s.io/kubelet/config/v1beta1"
	"k8s.io/streaming/pkg/httpstream"

	"github.com/lifepod/lifepod/control/client"
	"github.com/lifepod/lifepod/node/server"
)

// podsOf are the pods of a root's `lifepod run` commands, as a node has them.
type podsOf struct {
	root   *root
	client *client.Client
}

func (p podsOf) Pods() (list []*v1.Pod) {
	found, _, _ := p.client.Pods(context.Background())
	for _, pod := range found {
		list = append(list, pod.Pod)
	}
	return list
}

func (p podsOf) find(is func(*v1.Pod) bool) (*v1.Pod, bool) {
	for _, pod := range p.Pods() {
		if is(pod) {
			return pod, true
		}
	}
	return nil, false
}

func (p podsOf) Pod(namespace, name string) (*v1.Pod, bool) {
	return p.find(func(pod *v1.Pod) bool { return pod.Namespace == namespace && pod.Name == name })
}

func (p podsOf) PodByUID(uid types.UID) (*v1.Pod, bool) {
	return p.find(func(pod *v1.Pod) bool { return pod.UID == uid })
}

func (p podsOf) Open(pod *v1.Pod, container string, instance int, dropped func()) server.Log {
	return server.LogFiles(p.logDir).Open(pod, container, instance, dropped)
}

func (p podsOf) logDir(pod *v1.Pod) string {
	return filepath.Join(p.root.dir, "logs", fmt.Sprintf("%s_%s_%s", pod.Namespace, pod.Name, pod.UID))
}

func (p podsOf) Healthy() error { return nil }

func (p podsOf) Complete() <-chan struct{} { return nil }

// nodeAPI serves a root's pods as the node's API, to everybody.
func nodeAPI(t *testing.T, r *root) (*server.Server, *rest.Config) {
	t.Helper()
	conn, err := grpc.NewClient("unix://"+filepath.Join(r.runDir(), "containerd.sock"), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	yes, no := true, false
	k := &kubeletconfig.KubeletConfiguration{Address: "127.0.0.1"}
	k.Authentication.Anonymous.Enabled, k.Authentication.Webhook.Enabled = &yes, &no
	k.Authorization.Mode = kubeletconfig.KubeletAuthorizationModeAlwaysAllow
	s, err := server.New(server.Config{
		Kubelet: k, Node: podsOf{r, client.New(filepath.Join(r.runDir(), "pods"), r.dir)}, Changes: &server.Changes{},
		TLS: &tls.Config{Certificates: []tls.Certificate{certificate(t)}}, Runtime: runtimeapi.NewRuntimeServiceClient(conn),
		Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Listen(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return s, &rest.Config{Host: "https://" + s.Addr().String(), TLSClientConfig: rest.TLSClientConfig{Insecure: true}}
}

func certificate(t *testing.T) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// executors speak the protocols of kubectl and of API servers, today's and old ones.
var executors = map[string]func(c *rest.Config, u *url.URL) (remotecommand.Executor, error){
	"SPDY": func(c *rest.Config, u *url.URL) (remotecommand.Executor, error) {
		return remotecommand.NewSPDYExecutor(c, http.MethodPost, u)
	},
	"WebSocket v5": func(c *rest.Config, u *url.URL) (remotecommand.Executor, error) {
		return remotecommand.NewWebSocketExecutor(c, http.MethodGet, u.String())
	},
	"WebSocket v4": func(c *rest.Config, u *url.URL) (remotecommand.Executor, error) {
		return remotecommand.NewWebSocketExecutorForProtocols(c, http.MethodGet, u.String(), "v4.channel.k8s.io")
	},
}

// TestNodeAPIStreams: exec, attach and portForward of the node's API on the real
// runtime, in every protocol (KEP-4006), and a log that is followed to its end.
func TestNodeAPIStreams(t *testing.T) {
	t.Parallel()
	c := shared.startReady(t, pod("node-api", `
containers:
`+shell("main", waiter)+`
- {name: cat, image: TOOLBOX, command: [cat], stdin: true}
- {name: serve, image: TOOLBOX, command: [serve, --port, "8080"], readinessProbe: {tcpSocket: {port: 8080}, periodSeconds: 1}}`))
	s, config := nodeAPI(t, shared)
	below := func(kind, rest string) *url.URL {
		u, err := url.Parse(config.Host + "/" + kind + "/default/node-api" + rest)
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	for protocol, executor := range executors {
		to := func(u *url.URL) remotecommand.Executor {
			e, err := executor(config, u)
			if err != nil {
				t.Fatal(err)
			}
			return e
		}
		run := "?input=1&output=1&error=1&" + url.Values{"command": {"sh", "-c", "read line; echo $line; echo err >&2; exit 7"}}.Encode()
		testNodeExec(t, protocol, to(below("exec", "/main"+run)))
		err := to(below("exec", "/none"+run)).StreamWithContext(t.Context(), remotecommand.StreamOptions{Stdin: strings.NewReader("")})
		if err == nil || !strings.Contains(err.Error(), "container not found") {
			t.Errorf("%s: exec in a container that is none: %v", protocol, err)
		}
		testNodeAttach(t, protocol, to(below("attach", "/cat?input=1&output=1")))
	}
	testForwards(t, config, below("portForward", ""))

	browser, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	response, err := browser.Get(below("containerLogs", "/cat?follow=true").String())
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	uid := shared.podNow(t, "node-api").UID
	c.signal(syscall.SIGINT)
	c.wait()
	s.Changes.Changed(uid)
	text, err := io.ReadAll(response.Body)
	if err != nil || strings.Count(string(text), "to ") != len(executors) {
		t.Errorf("log: %q, %v", text, err)
	}
}

// testNodeExec runs a command that repeats a line and exits with 7.
func testNodeExec(t *testing.T, protocol string, e remotecommand.Executor) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var out, errs bytes.Buffer
	err := e.StreamWithContext(ctx, remotecommand.StreamOptions{Stdin: strings.NewReader("in\n"), Stdout: &out, Stderr: &errs})
	var exit exec.CodeExitError
	if !errors.As(err, &exit) || exit.Code != 7 || out.String() != "in\n" || errs.String() != "err\n" {
		t.Errorf("%s: exec: %q, %q, %v", protocol, &out, &errs, err)
	}
}

// testNodeAttach has a container repeat a line, and goes away.
func testNodeAttach(t *testing.T, protocol string, e remotecommand.Executor) {
	t.Helper()
	in, feed := io.Pipe()
	defer func() { _ = feed.Close() }()
	go func() { _, _ = fmt.Fprintln(feed, "to "+protocol) }()
	out := attached{text: make(chan string, 10)}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- e.StreamWithContext(ctx, remotecommand.StreamOptions{Stdin: in, Stdout: out}) }()
	select {
	case got := <-out.text:
		if got != "to "+protocol+"\n" {
			t.Errorf("%s: attach: %q", protocol, got)
		}
		cancel()
		if err := <-ended; err == nil {
			t.Log("it ended by itself")
		}
	case err := <-ended:
		t.Errorf("%s: attach: %v", protocol, err)
	}
}

// attached hands on what a container writes.
type attached struct{ text chan string }

func (a attached) Write(p []byte) (int, error) {
	a.text <- string(p)
	return len(p), nil
}

// testForwards forwards a port by SPDY, and by SPDY in a WebSocket.
func testForwards(t *testing.T, config *rest.Config, to *url.URL) {
	t.Helper()
	transport, upgrader, err := spdy.RoundTripperFor(config)
	if err != nil {
		t.Fatal(err)
	}
	tunnel, err := portforward.NewSPDYOverWebsocketDialerForStreaming(to, config)
	if err != nil {
		t.Fatal(err)
	}
	for protocol, dialer := range map[string]httpstream.Dialer{
		"SPDY": spdy.NewDialerForStreaming(upgrader, &http.Client{Transport: transport}, http.MethodPost, to), "WebSocket": tunnel,
	} {
		stop, ready, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
		forwarder, err := portforward.NewOnAddressesForStreaming(dialer, []string{"127.0.0.1"}, []string{"0:8080"}, stop, ready, io.Discard, io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		go func() { ended <- forwarder.ForwardPorts() }()
		select {
		case <-ready:
		case err := <-ended:
			t.Fatalf("%s: forward: %v", protocol, err)
		}
		ports, err := forwarder.GetPorts()
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d/", ports[0].Local))
		if err != nil {
			t.Errorf("%s: %v", protocol, err)
		} else if _ = response.Body.Close(); response.StatusCode != http.StatusOK {
			t.Errorf("%s: %s", protocol, response.Status)
		}
		close(stop)
		if err := <-ended; err == nil {
			t.Log("it ended by itself")
		}
	}
}
