package main

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/lifepod/lifepod/bundle/runtime/internal/assert"
)

// The test binary is the toolbox under any name but its own.
func TestMain(m *testing.M) {
	if !strings.HasSuffix(os.Args[0], ".test") {
		main()
	}
	os.Exit(m.Run())
}

func command(args ...string) *exec.Cmd {
	cmd := exec.Command("/proc/self/exe", args[1:]...)
	cmd.Args[0] = args[0]
	cmd.Env = []string{"GREETING=hello"}
	return cmd
}

// server starts an applet on a free port and gives it and "127.0.0.1:PORT".
func server(t *testing.T, args ...string) (cmd *exec.Cmd, address string) {
	t.Helper()
	cmd = command(append(args, "--port", "0")...)
	cmd.Stderr = os.Stderr
	out := assert.Get(cmd.StdoutPipe()).Must(t)
	assert.Must(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	assert.Require(t, err == nil, "%q ended before it was ready: %v", args, err)
	port := line[strings.LastIndex(line, ":")+1:]
	return cmd, "127.0.0.1:" + strings.TrimSpace(port)
}

// client runs an applet: what it prints, and its exit code.
func client(t *testing.T, args ...string) string {
	t.Helper()
	cmd := command(args...)
	var out, diagnostics bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &diagnostics
	err := cmd.Run()
	assert.Require(t, cmd.ProcessState != nil, "%q: %v", args, err)
	if diagnostics.Len() > 0 {
		t.Logf("%q: %s", args, diagnostics.String())
	}
	return out.String() + strings.TrimPrefix(cmd.ProcessState.String(), "exit status ")
}

func TestServe(t *testing.T) {
	_, address := server(t, "serve")
	host := assert.Get(os.Hostname()).Must(t)
	for _, tt := range []struct{ args, want string }{
		{"fetch http://ADDR/healthz", "ok\n0"},
		{"fetch ADDR/readyz", "ok\n0"},
		{"fetch ADDR/livez", "ok\n0"},
		{"fetch ADDR/hostname", host + "\n0"},
		{"fetch ADDR/", host + "\n0"},
		{"fetch ADDR/nosuch", "404 page not found\n1"},
		{"dial ADDR", "0"},
	} {
		assert.Equal(t, tt.want, client(t, strings.Fields(strings.ReplaceAll(tt.args, "ADDR", address))...), "%s", tt.args)
	}
}

func TestServeByTheClock(t *testing.T) {
	for _, tt := range []struct{ options, path, want string }{
		{"--ready-after 1h", "readyz", "1"},
		{"--ready-after 1h", "livez", "0"},
		{"--ready-after 1ns", "readyz", "0"},
		{"--healthy-for 1h", "healthz", "0"},
		{"--healthy-for 1ns", "healthz", "1"},
		{"--healthy-for 1ns", "readyz", "1"},
	} {
		_, address := server(t, append([]string{"serve"}, strings.Fields(tt.options)...)...)
		if got := client(t, "fetch", address+"/"+tt.path); !strings.HasSuffix(got, tt.want) {
			t.Errorf("%s: %s: exit code %s, want %s", tt.options, tt.path, got, tt.want)
		}
	}
}

func TestServeEnds(t *testing.T) {
	cmd, _ := server(t, "serve", "--on-term", "6")
	assert.Must(t, cmd.Process.Signal(syscall.SIGTERM))
	_ = cmd.Wait()
	assert.Equal(t, 6, cmd.ProcessState.ExitCode(), "exit code after SIGTERM")
}

func TestGRPCHealth(t *testing.T) {
	_, address := server(t, "grpc-health", "--service", "db")
	conn, err := grpc.NewClient("passthrough:///"+address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	assert.Must(t, err)
	for service, want := range map[string]codes.Code{"": codes.OK, "db": codes.OK, "nosuch": codes.NotFound} {
		response, err := healthpb.NewHealthClient(conn).Check(t.Context(), &healthpb.HealthCheckRequest{Service: service})
		assert.True(t, status.Code(err) == want && (err != nil || response.Status == healthpb.HealthCheckResponse_SERVING), "%q: %v, %v; want %v", service, response, err, want)
	}
}

func TestTCP(t *testing.T) {
	cmd, address := server(t, "serve")
	assert.Equal(t, "0", client(t, "dial", address), "dial")
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	assert.Equal(t, "1", client(t, "dial", address), "dial of a closed port")
	assert.Equal(t, "127.0.0.1\n0", client(t, "lookup", "127.0.0.1"), "lookup")
}
