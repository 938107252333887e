package localdriver

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
)

// Serve serves CSI at a socket until ctx ends, and calls still being answered have been.
func (d *Driver) Serve(ctx context.Context, socket string) error {
	server := grpc.NewServer(grpc.UnaryInterceptor(d.log))
	csi.RegisterIdentityServer(server, d)
	csi.RegisterControllerServer(server, d)
	csi.RegisterNodeServer(server, d)
	listener, err := listen(socket)
	if err != nil {
		return fmt.Errorf("socket of %s: %w", Name, err)
	}
	stop := context.AfterFunc(ctx, server.GracefulStop)
	defer stop()
	return server.Serve(listener)
}

// listen makes a socket that only root reaches, in place of one that a driver has left.
func listen(socket string) (net.Listener, error) {
	if err := os.MkdirAll(filepath.Dir(socket), 0o700); err != nil {
		return nil, err
	}
	if err := os.Remove(socket); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return net.Listen("unix", socket)
}

func (d *Driver) log(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	answer, err := handler(ctx, req)
	if err != nil {
		d.config.Log.DebugContext(ctx, "call failed", "driver", Name, "call", info.FullMethod, "err", err)
	}
	return answer, err
}
