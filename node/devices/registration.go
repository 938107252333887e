package devices

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"

	"google.golang.org/grpc"
	v1 "k8s.io/api/core/v1"
	api "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"

	"github.com/lifepod/lifepod/roster/admit"
)

// Socket is the name of the socket at which plugins register.
const Socket = "kubelet.sock"

// Listen takes the socket at which plugins register, and removes those of plugins that an
// agent before knew: from that they see that they have to register again (A-DEV-2). What it
// returns serves until ctx ends.
func (d *Devices) Listen() (serve func(context.Context) error, err error) {
	if err := os.MkdirAll(d.Config.Dir, 0o750); err != nil {
		return nil, fmt.Errorf("folder of device plugins: %w", err)
	}
	if err := removeSockets(d.Config.Dir); err != nil {
		return nil, fmt.Errorf("folder of device plugins: %w", err)
	}
	listener, err := net.Listen("unix", filepath.Join(d.Config.Dir, Socket))
	if err != nil {
		return nil, fmt.Errorf("listen for device plugins: %w", err)
	}
	server := grpc.NewServer()
	api.RegisterRegistrationServer(server, registration{devices: d})
	return func(ctx context.Context) error {
		stop := context.AfterFunc(ctx, server.Stop)
		defer stop()
		if err := server.Serve(listener); err != nil && !errors.Is(err, grpc.ErrServerStopped) {
			return fmt.Errorf("device plugins: %w", err)
		}
		return nil
	}, nil
}

// removeSockets removes all sockets of a folder.
func removeSockets(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Type()&os.ModeSocket != 0 {
			err = errors.Join(err, os.Remove(filepath.Join(dir, e.Name())))
		}
	}
	return err
}

// registration is the service that plugins call.
type registration struct {
	api.UnsafeRegistrationServer
	devices *Devices
}

// Register takes a plugin, whose socket is in the same folder (A-DEV-2).
func (r registration) Register(ctx context.Context, request *api.RegisterRequest) (*api.Empty, error) {
	d, name := r.devices, request.GetResourceName()
	if d.Config.Counts != nil {
		d.Config.Counts.PluginRegisters(name)
	}
	if !slices.Contains(api.SupportedVersions[:], request.GetVersion()) {
		return &api.Empty{}, fmt.Errorf("requested API version %q is not supported by kubelet. Supported version is %q", request.GetVersion(), api.SupportedVersions)
	}
	if !admit.IsExtended(v1.ResourceName(name)) {
		return &api.Empty{}, fmt.Errorf("the ResourceName %q is invalid", name)
	}
	err := d.connect(ctx, name, filepath.Join(d.Config.Dir, request.GetEndpoint()))
	if err != nil {
		d.Config.Log.WarnContext(ctx, "a device plugin that wants to register can't be used", "resource", name, "err", err)
	}
	return &api.Empty{}, err
}

// Validate says whether a plugin may register that was found by its socket (A-PLUG-2).
func (d *Devices) Validate(name, _ string, versions []string) error {
	if !slices.ContainsFunc(versions, func(v string) bool { return slices.Contains(api.SupportedVersions[:], v) }) {
		return fmt.Errorf("manager version, %s, is not among plugin supported versions %v", api.Version, versions)
	}
	if !admit.IsExtended(v1.ResourceName(name)) {
		return fmt.Errorf("invalid name of device plugin socket: the ResourceName %q is invalid", name)
	}
	return nil
}

// Register takes a plugin that was found by its socket.
func (d *Devices) Register(ctx context.Context, name, endpoint string, _ []string) error {
	return d.connect(ctx, name, endpoint)
}

// Deregister stops using a plugin whose socket is gone.
func (d *Devices) Deregister(name, endpoint string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if r := d.resources[name]; r != nil {
		for _, p := range r.plugins {
			if p.socket == endpoint {
				p.end()
			}
		}
	}
}
