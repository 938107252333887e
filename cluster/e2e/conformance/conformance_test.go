//go:build conformance

package conformance

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lifepod/lifepod/cluster/e2e/instance"
	"github.com/lifepod/lifepod/cluster/e2e/neighbour"
	"github.com/lifepod/lifepod/e2e/machine"
	"github.com/lifepod/lifepod/internal/assert"
)

// Addresses of this machine and of the other one on the cable between them, from
// the range for tests of networks (RFC 2544).
const near, far = "198.18.77.1", "198.18.77.2"

// handler is the RuntimeClass handler that a test wants.
const handler = "[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.test-handler]\nruntime_type = 'io.containerd.runc.v2'\n"

// TestConformance runs upstream's tests; one that fails fails it.
func TestConformance(t *testing.T) {
	cache := assert.Get(filepath.Abs("../../../.cache")).Must(t)
	ctx := t.Context()
	other := neighbour.New(t, neighbour.Config{Cable: "lpconform0", Near: near, Far: far})
	images := serveImages(t, other, cache)
	cluster := startCluster(t)
	join(ctx, t, cluster, other)

	suite{
		cache: cache, name: "out", focus: `\[Conformance\]`, parallel: 4,
		kubeconfig: cluster.Kubeconfig, registry: images, args: []string{"--num-nodes", "2"},
	}.run(ctx, t)
}

// serveImages serves the tests' images on the same address of loopback of both
// machines, where containerd takes them without TLS.
func serveImages(t *testing.T, other *neighbour.Neighbour, cache string) (host string) {
	t.Helper()
	here := assert.Get(net.Listen("tcp", "127.0.0.1:0")).Must(t)
	var there net.Listener
	assert.Must(t, other.Within(func() (err error) {
		there, err = net.Listen("tcp", here.Addr().String())
		return err
	}))
	serveRegistry(t, cache, nil, here, there)
	return here.Addr().String()
}

// startCluster starts one that listens on the cable. It ends with the test.
func startCluster(t *testing.T) *instance.Instance {
	t.Helper()
	root := assert.Get(os.MkdirTemp("", "lp-conform-")).Must(t)
	assert.Must(t, withHandler(root))
	port := assert.Get(machine.FreePort()).Must(t)
	return instance.New(t, instance.Config{Root: root, Args: []string{
		"--listen", fmt.Sprintf("%s:%d", near, port), "--disable-admission-plugins", "DenyServiceExternalIPs", // one of the tests is about external IPs
	}})
}

func withHandler(root string) error {
	dir := filepath.Join(root, "containerd.d")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "test-handler.toml"), []byte(handler), 0o600)
}

// join makes the other machine a node, and returns when pods can be there.
func join(ctx context.Context, t *testing.T, cluster *instance.Instance, other *neighbour.Neighbour) {
	t.Helper()
	assert.Must(t, withHandler(other.Root))
	other.Joins(ctx, cluster, instance.Configuration)
	client := assert.Get(cluster.Client()).Must(t)
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	for !isReady(ctx, client.CoreV1().Nodes().Get) {
		select {
		case <-ctx.Done():
			t.Fatalf("the other node is not ready: %v\n%s", ctx.Err(), other.Join.Story())
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func isReady(ctx context.Context, get func(context.Context, string, metav1.GetOptions) (*v1.Node, error)) bool {
	node, err := get(ctx, neighbour.Node, metav1.GetOptions{})
	return err == nil && len(node.Spec.Taints) == 0 && machine.NodeReady(node).Status == v1.ConditionTrue
}
