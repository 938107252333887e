package volumes

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
	v1 "k8s.io/api/core/v1"
)

// Operation is what was done for one volume (A-VOL-7).
type Operation struct {
	Plugin string // that Kubernetes has for such volumes
	Name   string // such as volume_mount
	Failed bool
	Took   time.Duration
}

// Ended is an operation that is over.
func Ended(plugin, name string, began time.Time, err error) Operation {
	return Operation{Plugin: plugin, Name: name, Failed: err != nil, Took: time.Since(began)}
}

// Plugins whose volumes are elsewhere, or named otherwise than in the pod.
const (
	pluginHostPath = "kubernetes.io/host-path"
	pluginImage    = "kubernetes.io/image"
	pluginLocal    = "kubernetes.io/local-volume"
)

// pluginOf is the plugin of a volume of this package; empty for those of CSI drivers. bound is what
// a claim is bound to.
func pluginOf(volume *v1.Volume, bound *v1.PersistentVolume) string {
	switch {
	case volume.HostPath != nil, bound != nil && bound.Spec.HostPath != nil:
		return pluginHostPath
	case bound != nil && bound.Spec.Local != nil:
		return pluginLocal
	case volume.ConfigMap != nil:
		return "kubernetes.io/configmap"
	case volume.Secret != nil:
		return "kubernetes.io/secret"
	case volume.DownwardAPI != nil:
		return "kubernetes.io/downward-api"
	case volume.Projected != nil:
		return "kubernetes.io/projected"
	case volume.Image != nil:
		return pluginImage
	case volume.EmptyDir != nil || volume.VolumeSource == (v1.VolumeSource{}):
		return "kubernetes.io/empty-dir"
	}
	return ""
}

// mountEnded counts that a volume was mounted, or failed to be. A claim without a volume is no
// operation.
func (p preparer) mountEnded(volume *v1.Volume, began time.Time, err error) (plugin string) {
	if _, unbound := errors.AsType[*ClaimError](err); unbound || p.sources.Operation == nil {
		return ""
	}
	var bound *v1.PersistentVolume
	if volume.PersistentVolumeClaim != nil || volume.Ephemeral != nil {
		bound = p.remembered(volume)
	}
	if plugin = pluginOf(volume, bound); plugin == "" {
		return ""
	}
	name := "volume_mount"
	if bound != nil && isBlock(bound) {
		name = "map_volume"
	}
	p.sources.Operation(Ended(plugin, name, began, err))
	return plugin
}

// Unmounted are the operations that have taken the volumes away, all at once. Those of CSI drivers
// are not among them.
func (m Mounted) Unmounted(began time.Time, err error) (list []Operation) {
	for _, v := range m.volumes {
		if v.plugin == "" {
			continue
		}
		name := "volume_unmount"
		if v.device != "" {
			name = "unmap_volume"
		}
		list = append(list, Ended(v.plugin, name, began, err))
	}
	return list
}

// lockVersions keeps the versions of a pod's volumes as they are while the sub paths of a container are bound
// (unix.LOCK_SH): all of them come from one. Who writes a new version takes unix.LOCK_EX. A pod without volumes has none.
func lockVersions(podDir string, how int) (unlock func(), err error) {
	folder, err := os.Open(filepath.Join(podDir, "volumes"))
	if errors.Is(err, fs.ErrNotExist) {
		return func() {}, nil
	}
	if err != nil {
		return nil, err
	}
	for {
		if err = unix.Flock(int(folder.Fd()), how); !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if err != nil {
		return nil, errors.Join(err, folder.Close())
	}
	return func() { _ = folder.Close() }, nil
}

// binds are the files and folders of a volume that sub paths of containers are bound to. Until the runtime has mounted
// one for its container, it has to stay: what is deleted can't be mounted (A-VOL-5).
type binds map[[2]uint64]bool

func bindsOf(podDir, volume string) (binds, error) {
	targets, err := filepath.Glob(filepath.Join(subPathsOf(podDir, volume), "*", "*"))
	if err != nil {
		return nil, err
	}
	bound := binds{}
	for _, target := range targets {
		var stat unix.Stat_t
		if err := unix.Lstat(target, &stat); err != nil {
			return nil, err
		}
		bound[[2]uint64{stat.Dev, stat.Ino}] = true
	}
	return bound, nil
}

// subPathsOf has a folder for each container, with a number for each of its mounts.
func subPathsOf(podDir, volume string) string {
	return filepath.Join(podDir, "volume-subpaths", volume)
}

// any says whether something in a folder is bound, or the folder.
func (b binds) any(folder string) bool {
	if len(b) == 0 {
		return false
	}
	errBound := errors.New("bound")
	return errors.Is(filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
		var stat unix.Stat_t
		if err == nil && unix.Lstat(path, &stat) == nil && b[[2]uint64{stat.Dev, stat.Ino}] {
			return errBound
		}
		return err
	}), errBound)
}
