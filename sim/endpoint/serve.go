// Package endpoint is a container runtime without containers: it answers CRI as a real one
// does, at a socket, and what containers do is a scenario. Its timers are those of Go: a
// container that runs costs memory, and no goroutine.
package endpoint

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

// Options are what a runtime is like.
type Options struct {
	Scenarios *file.Scenarios
	Seed      uint64 // of everything that is drawn by chance
	// Images is the folder that the runtime says its images are in: a kubelet measures its file
	// system.
	Images string
}

// mostBytes is the largest message, as containerd's.
const mostBytes = 16 << 20

// Runtime is a new runtime. Scenarios that say what no runtime can know are an error.
func Runtime(o Options) (*crifake.Runtime, error) {
	for _, named := range o.Scenarios.All() {
		if err := scenario.Errors(named.Scenario, Check); err != nil {
			return nil, fmt.Errorf("%s: %w", named.From, err)
		}
	}
	runtime := crifake.NewPlay(newPlay(o))
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
	runtimeapi.RegisterRuntimeServiceServer(server, runtimeService{containerCalls{of: runtime}, runtime})
	runtimeapi.RegisterImageServiceServer(server, imageService{of: runtime})
	defer context.AfterFunc(ctx, server.Stop)()
	if err := server.Serve(listener); err != nil && ctx.Err() == nil {
		return fmt.Errorf("serve %s: %w", listener.Addr(), err)
	}
	return nil
}
