package internal_test

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/internal/pluginsocket"
)

// TestLongPluginSocket: a plugin is reached whose socket's path is longer than an address (A-PLUG-2); that it does not listen is said
// with the path.
func TestLongPluginSocket(t *testing.T) {
	folder := filepath.Join(t.TempDir(), strings.Repeat("driver.example.com-", 8))
	assert.Must(t, os.Mkdir(folder, 0o700))
	path := filepath.Join(folder, "dra.sock")
	t.Chdir(folder)
	listener := assert.Get(net.Listen("unix", "dra.sock")).Must(t)
	server := grpc.NewServer()
	grpc_health_v1.RegisterHealthServer(server, health.NewServer())
	go func() { _ = server.Serve(listener) }() // until it is stopped
	ask := func() error {
		client := assert.Get(pluginsocket.Client(path)).Must(t)
		defer func() { assert.NoError(t, client.Close()) }()
		_, err := grpc_health_v1.NewHealthClient(client).Check(context.Background(), &grpc_health_v1.HealthCheckRequest{})
		return err
	}
	assert.NoError(t, ask())
	server.Stop()
	err := ask()
	assert.True(t, err != nil && strings.Contains(err.Error(), path), "%v", err)
}
