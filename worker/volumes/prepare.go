package volumes

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/worker/criconfig"
)

// Sources are what volumes are made of, beside the pod.
type Sources struct {
	Objects criconfig.Objects
	// Allocatable stands in for limits that a downwardAPI volume asks for and
	// nobody set (A-ENV-8).
	Allocatable v1.ResourceList
	// ClaimsDir has a folder per namespace and claim; it is nobody's to remove.
	// Without an API server claims are these folders.
	ClaimsDir string
	// API is nil without an API server.
	API API
	// CSI is nil if there are no CSI drivers.
	CSI CSI
	// Operation is told what was done for a volume; nil: nobody wants to know.
	Operation func(Operation)
	// Found is told the groups that the pod's persistent volumes name, once it is known what all of
	// its claims are bound to, before any volume is made; nil: nobody wants to know.
	Found func(groups []int64)
}

// Mounted are the volumes of a pod on this host.
type Mounted struct {
	podDir  string
	volumes map[string]mounted
}

type mounted struct {
	path     string // empty for an image, which the runtime mounts itself, and for a device
	name     string // of what a claim is bound to
	device   string // of a volume that is no file system
	group    *int64 // that what a claim is bound to names
	image    bool
	readOnly bool
	// relabel: with SELinux the runtime gives the files the container's label (A-VOL-2).
	relabel bool
	plugin  string // by which its operations are counted; empty: they are not
}

// Path is the host's path of a volume; an image or a device has none.
func (m Mounted) Path(volume string) (string, bool) {
	v, found := m.volumes[volume]
	return v.path, found && v.path != ""
}

// Groups are those that the pod's persistent volumes name: their files belong to them
// (A-SEC-3).
func (m Mounted) Groups() []int64 {
	var groups []*int64
	for _, v := range m.volumes {
		groups = append(groups, v.group)
	}
	return distinct(groups)
}

// Prepare makes the pod's folder and the volumes that containers use; one that
// no container mentions is left out, as Kubernetes does, even if what it refers
// to is missing. The error joins a MountError for each volume that failed.
func Prepare(ctx context.Context, pod *v1.Pod, podDir string, sources Sources) (Mounted, error) {
	p := preparer{pod: pod, podDir: podDir, sources: sources}
	out := Mounted{podDir: podDir, volumes: map[string]mounted{}}
	for _, dir := range []string{podDir, filepath.Join(podDir, "volumes"), filepath.Join(podDir, "plugins")} {
		if err := os.MkdirAll(dir, 0o750); err != nil {
			return Mounted{}, fmt.Errorf("error making pod data directories: %w", err)
		}
	}
	list := used(pod)
	p.found = p.find(ctx, list)
	made := make([]making, len(list))
	var beside sync.WaitGroup
	beside.Go(func() { p.prepareAll(ctx, list, made, waits) }) // a token of the API server waits for no driver
	p.prepareAll(ctx, list, made, func(v *v1.Volume) bool { return !waits(v) })
	beside.Wait()
	var failures []error
	for i, m := range made {
		switch {
		case !m.tried:
			return Mounted{}, fmt.Errorf("prepare volumes: %w", ctx.Err())
		case m.err != nil:
			failures = append(failures, ofVolume(list[i].Name, m.err))
		default:
			out.volumes[list[i].Name] = m.mounted
		}
	}
	return out, errors.Join(failures...)
}

// making is what has become of a volume.
type making struct {
	mounted
	err   error
	tried bool
}

// prepareAll makes some of the volumes, one after the other, until ctx ends.
func (p preparer) prepareAll(ctx context.Context, list []*v1.Volume, made []making, which func(*v1.Volume) bool) {
	for i, volume := range list {
		if !which(volume) || ctx.Err() != nil {
			continue
		}
		began := time.Now()
		m := &made[i]
		m.tried = true
		m.mounted, m.err = p.prepare(ctx, volume)
		m.plugin = p.mountEnded(volume, began, m.err)
	}
}

// waits says whether a volume may be a driver's, for which a pod may wait long.
func waits(v *v1.Volume) bool { return pluginOf(v, nil) == "" }

// Refresh brings the files of configMap, secret, downwardAPI and projected volumes
// that Prepare has made up to date, each volume in one step (A-VOL-5), and those of CSI drivers
// that want to publish them again. The error is like that of Prepare; a volume that failed shows
// what it showed before.
func Refresh(ctx context.Context, pod *v1.Pod, podDir string, sources Sources) error {
	p := preparer{pod: pod, podDir: podDir, sources: sources, again: true}
	var failures []error
	for _, v := range used(pod) {
		if !isWritten(v) && v.CSI == nil && p.rememberedCSI(v) == nil {
			continue
		}
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("refresh volumes: %w", err)
		}
		began := time.Now()
		err := p.refresh(ctx, v)
		p.mountEnded(v, began, err)
		if err != nil {
			failures = append(failures, ofVolume(v.Name, err))
		}
	}
	return errors.Join(failures...)
}

// ofVolume says which volume has failed, unless the error says it.
func ofVolume(name string, err error) error {
	var mount *MountError
	var claim *ClaimError
	if limit, is := errors.AsType[*LimitError](err); is {
		limit.Volume = name
		return limit
	}
	if errors.As(err, &mount) || errors.As(err, &claim) {
		return err
	}
	return &MountError{Volume: name, Err: err}
}

// used are the volumes that containers use, in their order.
func used(pod *v1.Pod) (list []*v1.Volume) {
	names := usedVolumes(pod)
	for i := range pod.Spec.Volumes {
		if v := &pod.Spec.Volumes[i]; names[v.Name] {
			list = append(list, v)
		}
	}
	return list
}

// usedVolumes are those that a container mounts or reads variables from.
func usedVolumes(pod *v1.Pod) map[string]bool {
	used := map[string]bool{}
	for _, c := range lifecycle.AllContainers(pod) {
		for _, mount := range c.VolumeMounts {
			used[mount.Name] = true
		}
		for _, device := range c.VolumeDevices {
			used[device.Name] = true
		}
		for _, env := range c.Env {
			if env.ValueFrom != nil && env.ValueFrom.FileKeyRef != nil {
				used[env.ValueFrom.FileKeyRef.VolumeName] = true
			}
		}
	}
	return used
}

// preparer makes the volumes of one pod.
type preparer struct {
	pod     *v1.Pod
	podDir  string
	sources Sources
	volume  string // that is made, by its name
	again   bool   // the pod has its volumes
	// found is what claims are bound to, by the names of their volumes, as far as Prepare knows.
	found map[string]*v1.PersistentVolume
}

func (p preparer) prepare(ctx context.Context, volume *v1.Volume) (mounted, error) {
	p.volume = volume.Name
	switch {
	case volume.HostPath != nil:
		return mounted{path: volume.HostPath.Path}, checkHostPath(volume.HostPath)
	case isWritten(volume):
		dir := Folder(p.podDir, volume, "")
		return mounted{path: dir, readOnly: true, relabel: true}, p.written(ctx, dir, volume)
	case volume.PersistentVolumeClaim != nil, volume.Ephemeral != nil && p.sources.API != nil:
		return p.claim(ctx, volume)
	case volume.Image != nil:
		return mounted{image: true, readOnly: true}, nil
	case volume.EmptyDir != nil || volume.VolumeSource == (v1.VolumeSource{}):
		dir := Folder(p.podDir, volume, "")
		return mounted{path: dir, relabel: true}, p.emptyDir(dir, volume.EmptyDir)
	}
	return p.ofDriver(ctx, volume)
}

const supportedTypes = "emptyDir, hostPath, configMap, secret, downwardAPI, projected, persistentVolumeClaim, ephemeral, csi or image"

// isWritten says whether a volume has files that are made of objects.
func isWritten(v *v1.Volume) bool {
	return v.ConfigMap != nil || v.Secret != nil || v.DownwardAPI != nil || v.Projected != nil
}

// Folder is where Prepare makes a volume in the pod's folder; empty for one that is
// elsewhere. bound is the name of what a claim is bound to.
func Folder(podDir string, volume *v1.Volume, bound string) string {
	plugin, name := pluginOf(volume, nil), volume.Name
	if bound != "" {
		plugin, name = pluginLocal, bound
	}
	if plugin == "" || plugin == pluginHostPath || plugin == pluginImage {
		return ""
	}
	return filepath.Join(podDir, "volumes", strings.ReplaceAll(plugin, "/", "~"), name)
}

// fsGroup is the group that owns the pod's volumes, or nil.
func (p preparer) fsGroup() *int64 {
	if p.pod.Spec.SecurityContext == nil {
		return nil
	}
	return p.pod.Spec.SecurityContext.FSGroup
}

// fsUser is the user that all containers of the pod run as, or nil.
func (p preparer) fsUser() *int64 {
	var user *int64
	for _, c := range lifecycle.AllContainers(p.pod) {
		runs := runAsUser(p.pod, &c)
		if runs == nil || user != nil && *user != *runs {
			return nil
		}
		user = runs
	}
	return user
}

func runAsUser(pod *v1.Pod, c *v1.Container) *int64 {
	if c.SecurityContext != nil && c.SecurityContext.RunAsUser != nil {
		return c.SecurityContext.RunAsUser
	}
	if pod.Spec.SecurityContext == nil {
		return nil
	}
	return pod.Spec.SecurityContext.RunAsUser
}

func setField(value reflect.Value) string {
	for i := range value.NumField() {
		if !value.Field(i).IsNil() {
			name, _, _ := strings.Cut(value.Type().Field(i).Tag.Get("json"), ",")
			return name
		}
	}
	return "unknown"
}
