package cluster

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/lifepod/lifepod/e2e/machine"
	"github.com/lifepod/lifepod/internal/assert"
)

// testCluster is one of this process without a node: it needs no container runtime.
type testCluster struct {
	Config
	client kubernetes.Interface
	log    machine.Log
	end    context.CancelFunc
	ended  chan error
}

// withoutNode are the parts that a cluster does without that is to run nothing.
var withoutNode = []string{nodePart, "services", "routes", "dns"}

// startCluster starts one and returns when it says that it is ready. Without a root it
// has a new one, which goes with the test.
func startCluster(t *testing.T, c Config) *testCluster {
	t.Helper()
	assert.Require(t, os.Geteuid() == 0, "want root")
	if c.Root == "" {
		c.Root = newRoot(t)
		port := assert.Get(machine.FreePort()).Must(t)
		c.Listen = fmt.Sprintf("0.0.0.0:%d", port)
	}
	c.Simulated.Speed = 1
	if c.Node == "" {
		c.Node = "n1"
	}
	s := &testCluster{Config: c, ended: make(chan error, 1)}
	s.Log = slog.New(slog.NewTextHandler(&s.log, &slog.HandlerOptions{Level: slog.LevelInfo}))
	ctx, end := context.WithCancel(context.WithoutCancel(t.Context()))
	s.end = end
	ready := make(chan Ready, 1)
	go func() {
		defer close(s.ended)
		s.ended <- Run(ctx, s.Config, func(r Ready) { ready <- r })
	}()
	t.Cleanup(func() {
		s.end()
		if err := <-s.ended; t.Failed() { // else whoever wants to know has asked
			t.Logf("%v\n%s", err, &s.log)
		}
	})
	select {
	case err := <-s.ended:
		t.Fatalf("it does not begin: %v", err)
	case <-time.After(4 * time.Minute):
		t.Fatal("it is not ready")
	case <-ready:
	}
	config, err := clientcmd.BuildConfigFromFlags("", filepath.Join(c.Root, "cluster", "kubeconfig"))
	if err == nil {
		s.client, err = kubernetes.NewForConfig(config)
	}
	assert.Must(t, err)
	return s
}

const processVariable = "LIFEPOD_TEST_PROCESS"

// ownProcess runs a test in a process of its own, begun by a command if there is one. It
// is true in that process.
func ownProcess(t *testing.T, by ...string) bool {
	t.Helper()
	if os.Getenv(processVariable) != "" {
		return true
	}
	args := slices.Concat(by, []string{os.Args[0], "-test.run", "^" + t.Name() + "$"})
	command := exec.Command(args[0], args[1:]...)
	command.Env = append(os.Environ(), processVariable+"=1")
	out, err := command.CombinedOutput()
	assert.True(t, err == nil, "%v\n%s", err, out)
	return false
}

// newRoot is a state folder whose sockets have short paths.
func newRoot(t *testing.T) string {
	root := assert.Get(os.MkdirTemp("", "lpc")).Must(t)
	assert.AtEnd(t, func() error { return errors.Join(os.RemoveAll(root), os.RemoveAll(machine.Root{Dir: root}.RunDir())) })
	return root
}

// await returns when something works.
func (s *testCluster) await(t *testing.T, what string, works func() error) {
	t.Helper()
	patience := time.After(time.Minute)
	for {
		err := works()
		if err == nil {
			return
		}
		select {
		case <-patience:
			t.Fatalf("%s: %v", what, err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// said returns when the cluster has logged something.
func (s *testCluster) said(t *testing.T, text string) {
	t.Helper()
	s.await(t, "the log", func() error {
		if strings.Contains(s.log.String(), text) {
			return nil
		}
		return fmt.Errorf("it never says %q", text)
	})
}
