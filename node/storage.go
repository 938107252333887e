package node

import (
	"context"
	"path/filepath"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/lifepod/lifepod/host"
	"github.com/lifepod/lifepod/node/config"
	"github.com/lifepod/lifepod/node/csi"
	"github.com/lifepod/lifepod/pods"
	"github.com/lifepod/lifepod/worker/criconfig"
)

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
		c.Again = func(pod types.UID) { inbox.ObjectsChanged(pod, "") }
	})
}
