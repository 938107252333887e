// Package storage gives pods that are measured volumes of a CSI driver: lifepod's own driver
// under another name, which this process serves to whichever node has its turn.
package storage

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	registerapi "k8s.io/kubelet/pkg/apis/pluginregistration/v1"

	"github.com/lifepod/lifepod/bench/testbed"
	"github.com/lifepod/lifepod/node/localdriver"
)

// Name is the name of the driver and of its CSIDriver.
const Name = "bench.csi.lifepod.dev"

// Driver is the driver of one node, or of none.
type Driver struct {
	local *localdriver.Driver
	dir   string // of the volumes
	// Slow is for how long NodePublishVolume keeps its answer back; set while nobody calls.
	Slow time.Duration
	// Answered is called when the driver answers NodePublishVolume of a pod's volume, nil: it is not;
	// set while nobody calls.
	Answered func(pod string, at time.Time)

	server     *grpc.Server
	served     sync.WaitGroup
	socket     string
	registered chan error // has one place
}

// New makes one without volumes; Close removes it.
func New(node string) (*Driver, error) {
	dir, err := os.MkdirTemp("", "lp-volumes-")
	if err != nil {
		return nil, err
	}
	local, err := localdriver.New(localdriver.Config{Dir: dir, Node: node, Version: "bench", Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return &Driver{local: local, dir: dir, registered: make(chan error, 1)}, nil
}

// Serve serves the driver to a node whose folder of plugins is below root, and waits until the node
// uses it.
func (d *Driver) Serve(ctx context.Context, root string) error {
	d.server = grpc.NewServer(grpc.UnaryInterceptor(d.note))
	csi.RegisterIdentityServer(d.server, d.local)
	csi.RegisterNodeServer(d.server, d.local)
	registerapi.RegisterRegistrationServer(d.server, registration{driver: d})
	d.socket = filepath.Join(root, "plugins", Name, "csi.sock")
	for _, socket := range []string{d.socket, filepath.Join(root, "plugins_registry", Name+"-reg.sock")} {
		if err := os.MkdirAll(filepath.Dir(socket), 0o750); err != nil {
			return err
		}
		listener, err := net.Listen("unix", socket) // the server removes the socket when it is stopped
		if err != nil {
			return err
		}
		d.served.Go(func() { _ = d.server.Serve(listener) }) // until it is stopped
	}
	select {
	case err := <-d.registered:
		return err
	case <-time.After(testbed.Patience):
		return fmt.Errorf("the node does not use CSI driver %s within %v", Name, testbed.Patience)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Stop ends serving; the volumes stay.
func (d *Driver) Stop() {
	if d.server != nil {
		d.server.Stop()
		d.served.Wait()
	}
}

// Close ends it and removes its volumes.
func (d *Driver) Close() error {
	d.Stop()
	return os.RemoveAll(d.dir)
}

// note has NodePublishVolume slow, and noted.
func (d *Driver) note(ctx context.Context, request any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	if publish, ok := request.(*csi.NodePublishVolumeRequest); ok {
		return d.published(ctx, publish)
	}
	return handler(ctx, request)
}

// published publishes a volume, and tells when that is answered.
func (d *Driver) published(ctx context.Context, request *csi.NodePublishVolumeRequest) (*csi.NodePublishVolumeResponse, error) {
	answer, err := d.local.NodePublishVolume(ctx, request)
	time.Sleep(d.Slow)
	if d.Answered != nil {
		d.Answered(podOf(request.GetTargetPath()), time.Now())
	}
	return answer, err
}

// podOf returns the UID of the pod in whose folder a volume is published.
func podOf(target string) string {
	_, rest, _ := strings.Cut(target, "/pods/")
	uid, _, _ := strings.Cut(rest, "/")
	return uid
}

// registration tells a node about the driver.
type registration struct {
	registerapi.UnimplementedRegistrationServer
	driver *Driver
}

// GetInfo says who the driver is.
func (r registration) GetInfo(context.Context, *registerapi.InfoRequest) (*registerapi.PluginInfo, error) {
	return &registerapi.PluginInfo{Type: registerapi.CSIPlugin, Name: Name, Endpoint: r.driver.socket, SupportedVersions: []string{"1.0.0"}}, nil
}

// NotifyRegistrationStatus takes whether the node uses the driver.
func (r registration) NotifyRegistrationStatus(_ context.Context, status *registerapi.RegistrationStatus) (*registerapi.RegistrationStatusResponse, error) {
	var err error
	if !status.GetPluginRegistered() {
		err = fmt.Errorf("CSI driver %s is not registered: %s", Name, status.GetError())
	}
	select {
	case r.driver.registered <- err:
	default: // the node has told it before
	}
	return &registerapi.RegistrationStatusResponse{}, nil
}
