package localdriver

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	registerapi "k8s.io/kubelet/pkg/apis/pluginregistration/v1"
)

// lastWords is how long calls may take that are being answered when the driver ends.
const lastWords = 10 * time.Second

// Serve serves CSI and its registration at a socket, which is to be in the folder
// plugins_registry of the node, until ctx ends. Called once. What the
// driver is doing then is over when it returns: a copy is broken off, and what was frozen for
// it is thawed.
func (d *Driver) Serve(ctx context.Context, socket string) error {
	server := grpc.NewServer(grpc.UnaryInterceptor(d.log))
	csi.RegisterIdentityServer(server, d)
	csi.RegisterControllerServer(server, d)
	csi.RegisterNodeServer(server, d)
	registerapi.RegisterRegistrationServer(server, registration{driver: d, socket: socket})
	listener, err := listen(socket)
	if err != nil {
		return fmt.Errorf("socket of %s: %w", Name, err)
	}
	defer d.calls.Wait()
	defer d.end()
	never := context.AfterFunc(ctx, func() {
		d.end()
		force := time.AfterFunc(lastWords, server.Stop)
		defer force.Stop()
		server.GracefulStop()
	})
	defer never()
	return server.Serve(listener)
}

// end lets no more calls begin, and breaks off long work.
func (d *Driver) end() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.stop()
}

// Controller serves the controller's calls, to whoever may make them, over HTTP/2.
func (d *Driver) Controller() http.Handler {
	server := grpc.NewServer(grpc.UnaryInterceptor(d.log))
	csi.RegisterControllerServer(server, d)
	return server
}

// listen makes a socket that only root reaches, in place of one that a driver has left.
func listen(socket string) (net.Listener, error) {
	if err := os.MkdirAll(filepath.Dir(socket), 0o750); err != nil {
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

// registration is how the node gets to know the driver.
type registration struct {
	registerapi.UnsafeRegistrationServer

	driver *Driver
	socket string
}

// GetInfo says that this is a CSI driver, and of which version of CSI.
func (r registration) GetInfo(context.Context, *registerapi.InfoRequest) (*registerapi.PluginInfo, error) {
	return &registerapi.PluginInfo{Type: registerapi.CSIPlugin, Name: Name, Endpoint: r.socket, SupportedVersions: []string{"1.0.0"}}, nil
}

// NotifyRegistrationStatus hears whether the node uses the driver. If not, it tries again.
func (r registration) NotifyRegistrationStatus(ctx context.Context, status *registerapi.RegistrationStatus) (*registerapi.RegistrationStatusResponse, error) {
	if !status.GetPluginRegistered() {
		r.driver.config.Log.WarnContext(ctx, "the node does not use the driver yet", "driver", Name, "err", status.GetError())
	}
	return &registerapi.RegistrationStatusResponse{}, nil
}
