package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/lifepod/lifepod/e2e/machine"
)

// testCluster is one of this process without a node: it needs no container runtime.
type testCluster struct {
	config *rest.Config
	client kubernetes.Interface
	end    context.CancelFunc
	ended  chan error
}

// withoutNode are the parts that a cluster does without that is to run nothing.
var withoutNode = []string{nodePart, "services", "routes", "dns"}

// startCluster starts one and returns when it says that it is ready.
func startCluster(t *testing.T, c Config) *testCluster {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Fatal("want root")
	}
	port, err := machine.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	root, err := os.MkdirTemp("", "lpc") // the path of its sockets is short
	if err != nil {
		t.Fatal(err)
	}
	log := &logBuffer{}
	c.Root, c.Log = root, slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelInfo}))
	c.Listen, c.Node = fmt.Sprintf("0.0.0.0:%d", port), "n1"
	ctx, end := context.WithCancel(context.WithoutCancel(t.Context()))
	s := &testCluster{end: sync.OnceFunc(end), ended: make(chan error, 1)}
	ready := make(chan Ready, 1)
	go func() {
		defer close(s.ended)
		s.ended <- Run(ctx, c, func(r Ready) { ready <- r })
	}()
	t.Cleanup(func() {
		s.end()
		<-s.ended
		if t.Failed() {
			t.Log(log)
		}
		if err := errors.Join(os.RemoveAll(root), os.RemoveAll(machine.Root{Dir: root}.RunDir())); err != nil {
			t.Error(err)
		}
	})
	select {
	case err := <-s.ended:
		t.Fatalf("it does not begin: %v", err)
	case <-time.After(4 * time.Minute):
		t.Fatal("it is not ready")
	case <-ready:
	}
	if s.config, err = clientcmd.BuildConfigFromFlags("", filepath.Join(root, "cluster", "kubeconfig")); err == nil {
		s.client, err = kubernetes.NewForConfig(s.config)
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// logBuffer is a log that may be written to after its test has ended.
type logBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}
