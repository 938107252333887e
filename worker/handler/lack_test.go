package handler

import (
	"errors"
	"net"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"google.golang.org/grpc"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/lifecycle"
)

// TestFilesLack: A-PROBE-18: an attempt in a process that has no file left for it could not be made, and is no failure.
func TestFilesLack(t *testing.T) {
	const child = "LIFEPOD_TEST_NO_FILES"
	if os.Getenv(child) == "" {
		again := exec.Command(os.Args[0], "-test.run=^TestFilesLack$")
		again.Env = append(os.Environ(), child+"=1")
		out, err := again.CombinedOutput()
		assert.Require(t, err == nil, "%v: %s", err, out)
		return
	}
	server := httptest.NewServer(nil)
	defer server.Close()
	listener := assert.Get(net.Listen("tcp", "127.0.0.1:0")).Must(t)
	go func() { _ = grpc.NewServer().Serve(listener) }()
	port := portOf(server.Listener.Addr().String())
	probes := map[string]v1.ProbeHandler{
		"httpGet":                 {HTTPGet: &v1.HTTPGetAction{Port: port}},
		"httpGet, HTTPS":          {HTTPGet: &v1.HTTPGetAction{Port: port, Scheme: v1.URISchemeHTTPS}},
		"httpGet, name":           {HTTPGet: &v1.HTTPGetAction{Port: port, Host: "machine.example"}},
		"tcpSocket":               {TCPSocket: &v1.TCPSocketAction{Port: port}},
		"tcpSocket, nobody there": {TCPSocket: &v1.TCPSocketAction{Port: intstr.FromInt32(1)}},
		"grpc":                    {GRPC: &v1.GRPCAction{Port: int32(listener.Addr().(*net.TCPAddr).Port)}},
	}
	for name, p := range probes { // what is opened once is open
		got := on(p).Make(t.Context())
		assert.Require(t, got.Outcome != lifecycle.ProbeError, "%s with files: %s", name, got.Output)
	}
	// A name server that is slow to answer is still asked for the attempt that has ended: the next one would wait for that.
	_, _ = net.DefaultResolver.LookupHost(t.Context(), "machine.example")
	take(t)
	for name, p := range probes {
		if got := on(p).Make(t.Context()); got.Outcome != lifecycle.ProbeError || !strings.Contains(got.Output, "too many open files") {
			t.Errorf("%s without files: outcome %d, %s", name, got.Outcome, got.Output)
		}
	}
}

// take takes all files that are left to this process.
func take(t *testing.T) {
	few := syscall.Rlimit{Cur: 64, Max: 64}
	assert.Must(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &few))
	for {
		switch _, err := syscall.Dup(0); {
		case errors.Is(err, syscall.EMFILE):
			return
		case err != nil:
			t.Fatal(err)
		}
	}
}
