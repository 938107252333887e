package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	contentapi "github.com/containerd/containerd/api/services/content/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/agent/podcgroup"
	"github.com/lifepod/lifepod/bundle"
	"github.com/lifepod/lifepod/bundle/imageload"
	"github.com/lifepod/lifepod/cri"
)

// Runtime is an open container runtime, and where lifepod keeps its things.
type Runtime struct {
	*cri.Client
	Endpoint string
	Name     string // as it says of itself
	Root     string

	CgroupParent string // one level, such as "lifepod"
	Systemd      bool   // its cgroup driver is systemd's
	IPAMDir      string // of the bundled network, empty with another runtime
	Containerd   bool   // it serves containerd's own API, too

	bundled *bundle.Runtime // nil with another runtime
}

// Open starts or joins the bundled runtime of root, or connects to the one at
// endpoint. The error is one line that says what to do.
func Open(ctx context.Context, root, endpoint string, o Options) (*Runtime, error) {
	if os.Geteuid() != 0 {
		return nil, errors.New("lifepod needs root to make namespaces, cgroups and mounts: run it with sudo")
	}
	if endpoint != "" {
		return connect(ctx, root, endpoint)
	}
	bundled, err := bundle.Open(ctx, bundle.Config{Root: root, Log: o.Log})
	if err != nil {
		return nil, err
	}
	r := &Runtime{
		Endpoint: bundled.Endpoint(), Name: "containerd", Root: bundled.Paths().Root,
		CgroupParent: strings.TrimPrefix(bundled.CgroupParent(), "/"),
		IPAMDir:      bundled.Paths().IPAM(), Containerd: true, bundled: bundled,
	}
	r.Client, err = cri.Dial(r.Endpoint)
	if err == nil {
		_, err = bundled.ImportImages(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, r.Close(context.WithoutCancel(ctx)))
	}
	return r, nil
}

// connect uses a runtime that somebody else runs.
func connect(ctx context.Context, root, endpoint string) (*Runtime, error) {
	paths, err := bundle.Locate(root, "")
	if err != nil {
		return nil, err
	}
	client, err := cri.Dial(endpoint)
	if err != nil {
		return nil, err
	}
	r := &Runtime{
		Client: client, Endpoint: endpoint, Root: paths.Root,
		CgroupParent: strings.TrimPrefix(paths.CgroupParent(), "/"),
	}
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	if r.Name, err = client.Check(ctx); err == nil {
		err = r.askDriver(ctx)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("runtime endpoint %s: %w", endpoint, err), client.Close())
	}
	r.Containerd = r.Name == "containerd"
	return r, nil
}

// askDriver learns the runtime's cgroup driver; one that can't say uses cgroupfs.
func (r *Runtime) askDriver(ctx context.Context) error {
	config, err := r.Runtime.RuntimeConfig(ctx, &runtimeapi.RuntimeConfigRequest{})
	if err != nil {
		return nil // an older runtime without this call
	}
	r.Systemd = config.GetLinux().GetCgroupDriver() == runtimeapi.CgroupDriver_SYSTEMD
	return nil
}

// Content is containerd's content service, which knows how far a pull is; nil
// with another runtime.
func (r *Runtime) Content() contentapi.ContentClient {
	if !r.Containerd {
		return nil
	}
	return contentapi.NewContentClient(r.Conn)
}

// Socket is the endpoint's path.
func (r *Runtime) Socket() string { return strings.TrimPrefix(r.Endpoint, "unix://") }

// killStrays ends what the runtime itself has lost of a pod.
func (r *Runtime) killStrays(ctx context.Context) error {
	if r.bundled == nil {
		return nil
	}
	return r.bundled.KillStrayShims(ctx)
}

// Close ends the use of the runtime; the bundled one stops with its last user.
func (r *Runtime) Close(ctx context.Context) error {
	var err error
	if r.Client != nil {
		err = r.Client.Close()
	}
	if r.bundled != nil {
		return errors.Join(err, r.bundled.Close(ctx))
	}
	return errors.Join(err, podcgroup.Driver{Parent: r.CgroupParent, Systemd: r.Systemd}.RemoveParents())
}

// LoadImages takes the images of an archive in; only for containerd.
func (r *Runtime) LoadImages(ctx context.Context, archive io.Reader) ([]string, error) {
	return imageload.LoadImages(ctx, r.Socket(), archive)
}
