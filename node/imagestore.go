package node

import (
	"context"
	"fmt"
	"path/filepath"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/cri"
	"github.com/lifepod/lifepod/host"
	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/node/config"
	"github.com/lifepod/lifepod/node/csi"
	"github.com/lifepod/lifepod/node/objects"
	"github.com/lifepod/lifepod/node/space"
	"github.com/lifepod/lifepod/pods"
	"github.com/lifepod/lifepod/worker/criconfig"
	"github.com/lifepod/lifepod/worker/images"
)

// newImages are the runtime's images with the node's credentials, its credential
// providers and the records of who may use what (A-IMG-7, A-IMG-8). changed is called when
// images have come or gone.
func (s *setup) newImages(ctx context.Context, accounts objects.ServiceAccounts, changed func()) (*space.Claims, error) {
	k, o := s.config.Kubelet, s.options
	options := images.Options{
		NodeConfigs: images.AgentNodeConfigs(o.rootDir()),
		Containerd:  s.runtime.ContainerdAPI(), MaxParallel: maxParallelPulls(s.config),
	}
	if s.config.Set("registryPullQPS") { // as with serializeImagePulls: fast unless a file says otherwise
		options.PerSecond, options.Burst = int(*k.RegistryPullQPS), int(k.RegistryBurst)
	}
	if s.imagesElsewhere {
		options.Containerd = nil // the images are not the runtime's containerd's
	}
	if o.CredentialProviderConfig != "" || o.CredentialProviderBinDir != "" {
		list, err := objects.ReadCredentialProviders(o.CredentialProviderConfig)
		if err != nil {
			return nil, err
		}
		options.Providers, err = objects.NewCredentialProviders(list, o.CredentialProviderBinDir, accounts, s.log)
		if err != nil {
			return nil, err
		}
	}
	policy, err := objects.NewPullPolicy(k.ImagePullCredentialsVerificationPolicy, k.PreloadedImagesVerificationAllowlist)
	if err != nil {
		return nil, err
	}
	if o.inCluster() { // pods of a folder are all of one owner
		present, err := cri.Again(ctx, images.New(s.calls.Images, options).List)
		if err != nil {
			return nil, fmt.Errorf("list the images that are present: %w", err)
		}
		options.Records = objects.OpenPullRecords(o.rootDir(), policy, present, s.log)
	}
	return space.NewClaims(images.New(s.calls.Images, options), changed), nil
}

// maxParallelPulls is how many images are pulled at a time; 0 is no limit. Kubernetes
// pulls one after the other unless it is told otherwise; lifepod, which is told to
// be fast, does so only if the file says it.
func maxParallelPulls(c *config.Config) int {
	switch {
	case c.Set("serializeImagePulls") && *c.Kubelet.SerializeImagePulls:
		return 1
	case c.Kubelet.MaxParallelImagePulls != nil:
		return int(*c.Kubelet.MaxParallelImagePulls)
	}
	return 0
}

// newVolumes gives pods the volumes of CSI drivers, as far as that needs nothing of the pods.
func (s *setup) newVolumes(client kubernetes.Interface, drivers *csi.Registry) (*csi.Volumes, error) {
	boot, err := host.BootID()
	if err != nil {
		return nil, err
	}
	root := s.options.rootDir()
	settings := csi.Config{
		Drivers: drivers, Client: client, Node: s.name, PodsDir: host.PodsDir(root), PluginsDir: pluginsDir(root), Boot: boot, Log: s.log,
		LabelAllModes: config.Enabled(s.config.Kubelet, config.SELinuxMount),
		CountLabel:    s.counts.SELinuxLabel,
		Operation:     s.counts.VolumeOperation,
	}
	if criconfig.SELinuxEnabled() {
		settings.Labels = criconfig.SELinuxLabels{}
	}
	return csi.New(settings), nil
}

// runLocalVolumes serves the node's own driver, which registers as any other does, until ctx
// ends.
func (s *setup) runLocalVolumes(ctx context.Context) {
	if s.options.LocalVolumes == nil {
		return
	}
	if err := s.options.LocalVolumes.Serve(ctx, filepath.Join(s.options.rootDir(), pluginsFolder, "local.sock")); err != nil {
		s.log.ErrorContext(ctx, "no local volumes: pods that have some don't start", "err", err)
	}
}

// Unmounted notes that the mounts of a node's pods, which have ended without it, were taken
// away: the next node has the volumes mounted again.
func Unmounted(rootDir string) error {
	return csi.Unmounted(host.PodsDir(rootDir), pluginsDir(rootDir))
}

// pluginsDir has what CSI drivers have staged.
func pluginsDir(rootDir string) string { return filepath.Join(rootDir, "plugins") }

// giveVolumes lets the volumes know of the pods.
func (u uses) giveVolumes(inbox *pods.Inbox) {
	u.cluster.volumes.Connect(func(c *csi.Config) {
		c.Token = u.objects.TokenStatus
		c.Event = u.cluster.event
		c.Again = func(pod types.UID) { inbox.ObjectsChanged(pod, lifecycle.Because{}) }
	})
}

// openCalls makes the calls of the node, counted and, if it sends traces, traced: over a
// connection of their own then. done closes what was opened.
func (s *setup) openCalls() (done func(), err error) {
	runtime := s.runtime.Client
	if options := s.traces.Calls(); options != nil {
		if runtime, err = cri.Dial(s.runtime.Endpoint, options...); err != nil {
			return nil, err
		}
	}
	closeRuntime := func() {
		if runtime != s.runtime.Client {
			_ = runtime.Close() // nothing is under way any more
		}
	}
	counted := s.counts.Runtime(runtime.Conn)
	s.calls = &cri.Client{
		Runtime: runtimeapi.NewRuntimeServiceClient(counted), Images: runtimeapi.NewImageServiceClient(counted), Conn: s.runtime.Conn,
	}
	closeImages, err := s.useImageService()
	if err != nil {
		closeRuntime()
		return nil, err
	}
	return func() { closeImages(); closeRuntime() }, nil
}

// useImageService has images asked for at an endpoint of their own, if the
// configuration names one that isn't the runtime's. done closes the connection.
func (s *setup) useImageService() (done func(), err error) {
	endpoint := s.config.Kubelet.ImageServiceEndpoint
	if endpoint == "" || endpoint == s.runtime.Endpoint {
		return func() {}, nil
	}
	client, err := cri.Dial(endpoint, s.traces.Calls()...)
	if err != nil {
		return nil, fmt.Errorf("imageServiceEndpoint: %w", err)
	}
	s.imagesElsewhere = true
	s.calls.Images = runtimeapi.NewImageServiceClient(s.counts.Runtime(client.Conn))
	return func() { _ = client.Close() }, nil // nothing is under way any more
}
