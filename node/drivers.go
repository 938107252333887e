package node

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/node/devices"
	"github.com/lifepod/lifepod/pods"
	"github.com/lifepod/lifepod/worker/criconfig"
)

// newDevices are those of device plugins, with what an agent before has given to pods.
func (s *setup) newDevices(inbox *pods.Inbox) *devices.Devices {
	return devices.New(devices.Config{
		Dir: filepath.Join(s.options.rootDir(), devicePluginsFolder), Timeouts: devices.DefaultTimeouts(), Counts: s.counts, Log: s.log, HealthChanged: inbox.DevicesChanged,
	})
}

// healths tell how the devices of pods are, each of those that it has given. All of them have to
// tell the inbox of pods whose devices have another health now (A-DEV-12).
type healths []pods.Health

// of are the devices of a pod's containers, in the order of those who tell.
func (h healths) of(pod *v1.Pod) map[string][]v1.ResourceStatus {
	all := map[string][]v1.ResourceStatus{}
	for _, tell := range h {
		for container, list := range tell(pod) {
			all[container] = append(all[container], list...)
		}
	}
	return all
}

// pluginsFolder is where drivers register, below the node's folder.
const pluginsFolder = "plugins_registry"

const devicePluginsFolder = "device-plugins"

// letDriversIn makes the folders that drivers in containers may use, and labels them for SELinux
// (A-PLUG-3). The error is about those that they may not be able to use.
func letDriversIn(root string, label func(folder string) error) error {
	var failures []error
	for _, name := range []string{pluginsFolder, "plugins", devicePluginsFolder} {
		folder := filepath.Join(root, name)
		err := os.MkdirAll(folder, 0o750)
		if err == nil {
			err = label(folder)
		}
		failures = append(failures, err)
	}
	return errors.Join(failures...)
}

// newDrivers registers the drivers that ask for it (A-PLUG-1).
func (s *setup) newDrivers(p *parts) func(context.Context) {
	folder := filepath.Join(s.options.rootDir(), pluginsFolder)
	watcher := devices.NewPluginWatcher(folder, p.handlers(), s.log)
	if criconfig.SELinuxEnabled() {
		if err := letDriversIn(s.options.rootDir(), criconfig.LetDriversIn); err != nil {
			s.log.Warn("drivers in containers that are not privileged may not be able to register", "err", err)
		}
	}
	return func(ctx context.Context) {
		if err := watcher.Run(ctx); err != nil {
			s.log.ErrorContext(ctx, "no driver can register", "err", err)
		}
	}
}

// handlers are the parts that use drivers, by their type.
func (p *parts) handlers() map[string]devices.PluginHandler {
	handlers := map[string]devices.PluginHandler{devices.DevicePlugin: p.devices}
	if p.cluster != nil {
		handlers[devices.ClaimPlugin] = claimDrivers{p.cluster.claims.Drivers(), p.pods}
		handlers[devices.VolumePlugin] = p.cluster.csi
	}
	return handlers
}
