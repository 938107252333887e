package bundle

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"golang.org/x/sys/unix"
)

// PauseImage is the image of the process that holds a pod's namespaces.
const PauseImage = "lifepod.dev/pause:1"

// Carried says that an image with that name is carried by lifepod: no registry has it.
func Carried(name string) bool { return strings.HasPrefix(name, "lifepod.dev/") }

// host is what the configuration of containerd takes from the machine.
type host struct {
	// snapshotter is overlayfs, or native where overlayfs cannot be mounted.
	snapshotter string
	// restrictOOMScore is set without CAP_SYS_RESOURCE: then nobody may be
	// given a lower OOM score than lifepod itself has.
	restrictOOMScore bool
	// systemd makes the cgroups.
	systemd bool
	// crun is the program of the handler crun; empty without one.
	crun string
	// cni is the network instead of the bundled one; nil if there is none.
	cni *CNI
}

// table is a TOML table.
type table = map[string]any

// unneededPlugins are left out to start fast and to touch nothing outside
// the root: no metrics, tracing, debug or NRI sockets, no restart monitor, no
// snapshotter for block devices.
var unneededPlugins = []string{
	"io.containerd.differ.v1.erofs",
	"io.containerd.http.v1.pprof",
	"io.containerd.image-verifier.v1.bindir",
	"io.containerd.internal.v1.opt",
	"io.containerd.metrics.v1.grpc-otel",
	"io.containerd.metrics.v1.grpc-prometheus",
	"io.containerd.monitor.container.v1.restart",
	"io.containerd.monitor.task.v1.cgroups",
	"io.containerd.mount-handler.v1.erofs",
	"io.containerd.nri.v1.nri",
	"io.containerd.server.v1.debug",
	"io.containerd.server.v1.grpc-tcp",
	"io.containerd.server.v1.metrics",
	"io.containerd.snapshotter.v1.blockfile",
	"io.containerd.snapshotter.v1.erofs",
}

// containerdConfig is the configuration file of the containerd of p, with the user's
// drop-ins.
func containerdConfig(p Paths, h host) ([]byte, error) {
	disabled := append([]string{}, unneededPlugins...)
	for _, other := range []string{overlayfs, native} {
		if other != h.snapshotter {
			disabled = append(disabled, "io.containerd.snapshotter.v1."+other)
		}
	}
	config := table{
		"version":          4,
		"root":             p.content(),
		"state":            p.state(),
		"imports":          []string{},
		"disabled_plugins": disabled,
		"required_plugins": []string{"io.containerd.grpc.v1.cri"},
		"debug":            table{"level": "info"},
		"plugins": table{
			"io.containerd.server.v1.grpc":  table{"address": p.Socket()},
			"io.containerd.server.v1.ttrpc": table{"address": p.Socket() + ".ttrpc"},
			"io.containerd.shim.v1.manager": table{"socket_dir": p.shimSockets(), "env": shimEnvironment},
			"io.containerd.grpc.v1.cri":     table{"stream_server_address": "127.0.0.1", "stream_server_port": "0"},
			"io.containerd.cri.v1.images":   imagesConfig(p, h),
			runtimePlugin:                   runtimeConfig(p, h),
			"io.containerd.transfer.v1.local": table{
				"config_path":              p.Registries(),
				"max_concurrent_downloads": allDownloads,
				"unpack_config": []table{{
					"platform": platform(), "snapshotter": h.snapshotter, "differ": "walking",
				}},
			},
		},
	}
	if err := addDropIns(config, p, h.systemd); err != nil {
		return nil, err
	}
	text, err := toml.Marshal(config)
	if err != nil {
		return nil, fmt.Errorf("generate containerd's configuration: %w", err)
	}
	return text, nil
}

// allDownloads is the number of layers, of all images together, that the
// transfer service downloads at once: enough for the slow layers of one image
// not to hold up the others. criDownloads is containerd's default for the CRI
// plugin's own pulls; another number there would move pulls off the transfer
// service.
const (
	allDownloads = 9
	criDownloads = 3
)

func imagesConfig(p Paths, h host) table {
	return table{
		"snapshotter":                  h.snapshotter,
		"disable_snapshot_annotations": true,
		"max_concurrent_downloads":     criDownloads,
		"pinned_images":                table{"sandbox": PauseImage},
		"registry":                     table{"config_path": p.Registries()},
	}
}

// runtimeConfig configures how pods and containers are made. The loopback
// interface is set up by containerd itself, which saves a plugin call per
// sandbox.
func runtimeConfig(p Paths, h host) table {
	return table{
		"restrict_oom_score_adj":       h.restrictOOMScore,
		"netns_mounts_under_state_dir": true,
		"cni":                          cniTable(p, h.cni),
		"containerd": table{
			"default_runtime_name": "runc",
			"runtimes":             ociHandlers(p, h),
		},
	}
}

// runcHandler runs containers with the carried runc.
func runcHandler(p Paths, systemd bool) table {
	return table{
		"runtime_type": runcShim,
		"runtime_path": p.Shim(),
		"sandboxer":    "podsandbox",
		"options": table{
			"BinaryName":    p.Runc(),
			"Root":          filepath.Join(p.RunDir, "runc"),
			"SystemdCgroup": systemd,
		},
	}
}

// cniTable says where containerd finds plugins, and how they are to be called. The
// carried plugins are there for networks that are made of them.
func cniTable(p Paths, other *CNI) table {
	conf, bin := p.CNIConf(), []string{p.CNIBin()}
	if other != nil {
		conf, bin = other.ConfDir, []string{other.BinDir, p.CNIBin()}
	}
	return table{"bin_dirs": bin, "conf_dir": conf, "use_internal_loopback": true}
}

// shimEnvironment takes the address of the readiness notification away from
// the shims: runc would hand it on into the containers.
var shimEnvironment = []string{"NOTIFY_SOCKET="}

// inspectHost finds out what containerdConfig needs to know.
func inspectHost(p Paths) (host, error) {
	snapshotter, err := chooseSnapshotter(p)
	if err != nil {
		return host{}, err
	}
	may, err := hasCapability(unix.CAP_SYS_RESOURCE)
	if err != nil {
		return host{}, err
	}
	return host{snapshotter: snapshotter, restrictOOMScore: !may, systemd: p.usesSystemd()}, nil
}

// hasCapability says whether a capability is in our effective set.
func hasCapability(capability uint) (bool, error) {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		return false, fmt.Errorf("read our capabilities: %w", err)
	}
	return data[capability/32].Effective&(1<<(capability%32)) != 0, nil
}

// containerdEnvironment is ours, with the bundled programs first in the path.
func containerdEnvironment(p Paths) []string {
	env := []string{
		"PATH=" + filepath.Join(p.Bundle, "bin") + ":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"NOTIFY_SOCKET=" + p.notification(),
	}
	for _, name := range []string{"HOME", "LANG", "TMPDIR", "SSL_CERT_FILE", "SSL_CERT_DIR",
		"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy"} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}
