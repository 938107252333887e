// Package pluginsocket connects to the plugins of a node, which listen at Unix sockets.
package pluginsocket

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// Client is a client of who listens at a path, which may be longer than an address of a socket (A-PLUG-2). It connects with the first call.
func Client(path string, options ...grpc.DialOption) (*grpc.ClientConn, error) {
	return grpc.NewClient("passthrough:///plugin", append([]grpc.DialOption{
		grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithAuthority("localhost"),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return dial(ctx, path) }),
	}, options...)...)
}

// longest is what the kernel's address of a socket has room for, in bytes.
const longest = 107

func dial(ctx context.Context, path string) (net.Conn, error) {
	address := path
	if len(path) > longest {
		folder, err := os.OpenFile(filepath.Dir(path), unix.O_PATH|unix.O_DIRECTORY, 0)
		if err != nil {
			return nil, err
		}
		defer func() { _ = folder.Close() }() // nothing was written
		address = fmt.Sprintf("/proc/self/fd/%d/%s", folder.Fd(), filepath.Base(path))
	}
	conn, err := new(net.Dialer).DialContext(ctx, "unix", address)
	if err != nil && address != path {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return conn, err
}
