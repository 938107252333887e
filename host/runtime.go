package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/netip"
	"os"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/bundle"
	"github.com/lifepod/lifepod/cri"
	"github.com/lifepod/lifepod/worker/criconfig"
	"github.com/lifepod/lifepod/worker/podcgroup"
)

// answerTimeout is how long a runtime may take to answer at all.
const answerTimeout = 10 * time.Second

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
	Handler      string // of pods that name no RuntimeClass, empty for the runtime's default

	bundled *bundle.Runtime // nil with another runtime
}

// Open starts or joins the bundled runtime of root, or connects to the one at
// endpoint. The error is one line that says what to do.
func Open(ctx context.Context, root, endpoint string, log *slog.Logger) (*Runtime, error) {
	return OpenWith(ctx, endpoint, bundle.Config{Root: root, Log: log})
}

// CheckStart is an error if the machine lacks what the runtime at endpoint needs to start
// pods. It is for those who start pods, not for those who end them.
func CheckStart(endpoint string) error {
	if endpoint != "" {
		return nil // not every runtime needs the file
	}
	return criconfig.CheckHostsFile(criconfig.HostsPath)
}

// OpenWith is Open for who has more to say about the bundled runtime.
func OpenWith(ctx context.Context, endpoint string, c bundle.Config) (*Runtime, error) {
	if os.Geteuid() != 0 {
		return nil, errors.New("only root may make namespaces, cgroups and mounts: run it with sudo")
	}
	if endpoint != "" {
		if c.CNI != nil && c.CNI.ConfDir != "" {
			return nil, fmt.Errorf("--cni-conf-dir is for the bundled runtime: the one at %s has a configuration of its own", endpoint)
		}
		if c.OCIRuntime != "" {
			return nil, fmt.Errorf("--runtime is for the bundled runtime: the one at %s has handlers of its own, which a RuntimeClass names", endpoint)
		}
		return connect(ctx, c.Root, endpoint)
	}
	bundled, err := bundle.Open(ctx, c)
	if err != nil {
		return nil, err
	}
	r := &Runtime{
		Endpoint: bundled.Endpoint(), Name: "containerd", Root: bundled.Paths().Root,
		CgroupParent: strings.TrimPrefix(bundled.CgroupParent(), "/"),
		Systemd:      bundled.UsesSystemd(),
		Containerd:   true, Handler: bundled.Handler(), bundled: bundled,
	}
	if !bundled.Paths().OtherNetwork() {
		r.IPAMDir = bundled.Paths().IPAM()
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
	config, err := cri.Again(ctx, func(ctx context.Context) (*runtimeapi.RuntimeConfigResponse, error) {
		return r.Runtime.RuntimeConfig(ctx, &runtimeapi.RuntimeConfigRequest{})
	})
	if status.Code(err) == codes.Unimplemented {
		return nil // an older runtime without this call
	}
	if err != nil {
		return fmt.Errorf("ask the container runtime for its cgroup driver: %s", cri.Text(err))
	}
	r.Systemd = config.GetLinux().GetCgroupDriver() == runtimeapi.CgroupDriver_SYSTEMD
	return nil
}

// Bundled says that it is the runtime that lifepod carries.
func (r *Runtime) Bundled() bool { return r.bundled != nil }

// JoinNetwork gives the bundled runtime's pods their part of a cluster's pod network;
// see [bundle.Runtime.JoinNetwork].
func (r *Runtime) JoinNetwork(ctx context.Context, subnet, cluster netip.Prefix) error {
	if r.bundled == nil {
		return fmt.Errorf("pod network %s: the runtime at %s has its own", subnet, r.Endpoint)
	}
	if err := r.bundled.JoinNetwork(ctx, subnet, cluster); err != nil {
		return err
	}
	return r.awaitNetwork(ctx, subnet)
}

// How often, and for how long, containerd is asked whether it has noticed its new
// network configuration; it doesn't tell by itself.
const (
	noticePoll     = 10 * time.Millisecond
	noticePatience = 10 * time.Second
)

// awaitNetwork returns when pods that are made get addresses of subnet.
func (r *Runtime) awaitNetwork(ctx context.Context, subnet netip.Prefix) error {
	ctx, cancel := context.WithTimeoutCause(ctx, noticePatience, errors.New("containerd has not read its new configuration"))
	defer cancel()
	for {
		answer, err := r.Runtime.Status(ctx, &runtimeapi.StatusRequest{Verbose: true})
		if err == nil && strings.Contains(answer.GetInfo()["cniconfig"], subnet.String()) {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("pod network %s: %w", subnet, context.Cause(ctx))
		case <-time.After(noticePoll):
		}
	}
}

// Network is the bundled runtime's part of a cluster's pod network, and that network;
// both are invalid without one.
func (r *Runtime) Network() (subnet, cluster netip.Prefix, err error) {
	if r.bundled == nil {
		return subnet, cluster, nil
	}
	return r.bundled.Network()
}

// ContainerdAPI is the connection to containerd's own API, which knows how far a pull is; nil
// with another runtime.
func (r *Runtime) ContainerdAPI() grpc.ClientConnInterface {
	if !r.Containerd {
		return nil
	}
	return r.Conn
}

// Socket is the endpoint's path.
func (r *Runtime) Socket() string { return strings.TrimPrefix(r.Endpoint, "unix://") }

// KillStrays ends what the runtime itself has lost of a pod.
func (r *Runtime) KillStrays(ctx context.Context) error {
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

// UntagImage removes names of an image that has others; only for containerd.
func (r *Runtime) UntagImage(ctx context.Context, imageID string, names ...string) error {
	return bundle.UntagImage(ctx, r.Socket(), imageID, names...)
}

// TagImage gives an image another name; only for containerd.
func (r *Runtime) TagImage(ctx context.Context, imageID, name string) error {
	return bundle.TagImage(ctx, r.Socket(), imageID, name)
}

// SaveImages writes an archive of images; only for containerd.
func (r *Runtime) SaveImages(ctx context.Context, archive io.Writer, names ...string) error {
	return bundle.SaveImages(ctx, r.Socket(), archive, names...)
}

// LoadImages takes the images of an archive in; only for containerd.
func (r *Runtime) LoadImages(ctx context.Context, archive io.Reader) ([]string, error) {
	return bundle.LoadImages(ctx, r.Socket(), archive)
}

// CollectGarbage returns when the space of all that was removed is free; only for containerd.
func (r *Runtime) CollectGarbage(ctx context.Context) error {
	return bundle.CollectImages(ctx, r.Socket())
}
