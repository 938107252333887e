package live

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"

	"google.golang.org/grpc"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/cri/crifake"
	"github.com/lifepod/lifepod/sim/scenario"
	"github.com/lifepod/lifepod/sim/scenario/file"
)

// EndpointOptions are what a runtime is like.
type EndpointOptions struct {
	Scenarios *file.Scenarios
	Seed      uint64 // of everything that is drawn by chance
	// Images is the folder that the runtime says its images are in: a kubelet measures its file
	// system.
	Images string
}

// mostBytes is the largest message, as containerd's.
const mostBytes = 16 << 20

// NewRuntime is a new runtime. Scenarios that say what no runtime can know are an error.
func NewRuntime(o EndpointOptions) (*crifake.Runtime, error) {
	for _, named := range o.Scenarios.All() {
		if err := scenario.Errors(named.Scenario, CheckForEndpoint); err != nil {
			return nil, fmt.Errorf("%s: %w", named.From, err)
		}
	}
	runtime := crifake.NewPlay(o.Scenarios, o.Seed)
	runtime.ImagesAt(o.Images)
	return runtime, nil
}

// Listen takes an endpoint of the form unix:///path. A socket that nobody listens at is replaced.
func Listen(endpoint string) (net.Listener, error) {
	path, is := strings.CutPrefix(endpoint, "unix://")
	if !is || !filepath.IsAbs(path) {
		return nil, fmt.Errorf("endpoint %q: want unix:///path/to/socket", endpoint)
	}
	if conn, err := net.Dial("unix", path); err == nil {
		return nil, errors.Join(fmt.Errorf("endpoint %q: another runtime listens there", endpoint), conn.Close())
	}
	if info, err := os.Lstat(path); err == nil {
		if info.Mode().Type() != os.ModeSocket {
			return nil, fmt.Errorf("endpoint %q: there is a file that is no socket", endpoint)
		}
		if err := os.Remove(path); err != nil {
			return nil, fmt.Errorf("endpoint %q: %w", endpoint, err)
		}
	}
	listener, err := net.Listen("unix", path)
	if err != nil {
		return nil, fmt.Errorf("endpoint %q: %w", endpoint, err)
	}
	return listener, nil
}

// Serve serves a runtime until ctx ends; then calls under way are given up.
func Serve(ctx context.Context, listener net.Listener, runtime *crifake.Runtime) error {
	server := grpc.NewServer(grpc.MaxRecvMsgSize(mostBytes), grpc.MaxSendMsgSize(mostBytes))
	register(server, runtimeapi.RuntimeService_ServiceDesc, runtime)
	register(server, runtimeapi.ImageService_ServiceDesc, runtime)
	defer context.AfterFunc(ctx, server.Stop)()
	if err := server.Serve(listener); err != nil && ctx.Err() == nil {
		return fmt.Errorf("serve %s: %w", listener.Addr(), err)
	}
	return nil
}
