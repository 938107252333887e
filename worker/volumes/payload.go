package volumes

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/utils/ptr"

	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/worker/criconfig"
)

// file is one file of a volume made from an object.
type file struct {
	data  []byte
	mode  fs.FileMode
	owner *int64 // nil: root
}

// payload has the files of a volume by path relative to it.
type payload map[string]file

// written makes a volume of files: in memory, as Kubernetes does, but for a ConfigMap's. All that is wrong with its
// sources is reported at once.
func (p preparer) written(ctx context.Context, dir string, volume *v1.Volume) error {
	files, failures := p.files(ctx, volume)
	if kept(dir, failures...) {
		return nil
	}
	if err := utilerrors.NewAggregate(failures); err != nil {
		return err
	}
	makeDir := func() error { return p.memoryDir(dir, 0) }
	if volume.ConfigMap != nil {
		makeDir = func() error { return p.diskDir(dir) }
	}
	if err := makeDir(); err != nil {
		return err
	}
	return p.write(dir, volume.Name, files)
}

// files are those of a volume, and what is wrong with its sources.
func (p preparer) files(ctx context.Context, volume *v1.Volume) (files payload, failures []error) {
	var err error
	switch {
	case volume.ConfigMap != nil:
		files, err = p.configMapFiles(volume.ConfigMap)
	case volume.Secret != nil:
		files, err = p.secretFiles(volume.Secret)
	case volume.DownwardAPI != nil:
		files, err = p.downwardFiles(volume.DownwardAPI.Items, volume.DownwardAPI.DefaultMode)
	default:
		return p.projected(ctx, volume)
	}
	if err != nil {
		failures = []error{err}
	}
	return files, failures
}

// configMapFiles are the files that a ConfigMap gives.
func (p preparer) configMapFiles(source *v1.ConfigMapVolumeSource) (payload, error) {
	optional := ptr.Deref(source.Optional, false)
	object, err := p.sources.Objects.ConfigMap(p.pod.Namespace, source.Name)
	if err != nil {
		if !optional || !apierrors.IsNotFound(err) {
			return nil, sourceFailed(err)
		}
		object = &v1.ConfigMap{}
	}
	data := map[string][]byte{}
	maps.Copy(data, object.BinaryData)
	for key, value := range object.Data {
		data[key] = []byte(value)
	}
	files, missing := project(data, source.Items, source.DefaultMode)
	if missing != "" && !optional {
		return nil, fmt.Errorf("configmap references non-existent config key: %s", missing)
	}
	return files, nil
}

// secretFiles are the files that a Secret gives.
func (p preparer) secretFiles(source *v1.SecretVolumeSource) (payload, error) {
	optional := ptr.Deref(source.Optional, false)
	object, err := p.sources.Objects.Secret(p.pod.Namespace, source.SecretName)
	if err != nil {
		if !optional || !apierrors.IsNotFound(err) {
			return nil, sourceFailed(err)
		}
		object = &v1.Secret{}
	}
	files, missing := project(object.Data, source.Items, source.DefaultMode)
	if missing != "" && !optional {
		return nil, fmt.Errorf("references non-existent secret key: %s", missing)
	}
	return files, nil
}

// project picks the files of a volume out of an object's data: all keys, or the
// items. missing is the first item whose key is not there.
func project(data map[string][]byte, items []v1.KeyToPath, defaultMode *int32) (files payload, missing string) {
	mode := ptr.Deref(defaultMode, v1.ConfigMapVolumeSourceDefaultMode)
	files = payload{}
	if len(items) == 0 {
		for key, value := range data {
			files[key] = file{data: value, mode: fileMode(mode)}
		}
		return files, ""
	}
	for _, item := range items {
		value, found := data[item.Key]
		if !found {
			if missing == "" {
				missing = item.Key
			}
			continue
		}
		files[filepath.Clean(item.Path)] = file{data: value, mode: fileMode(ptr.Deref(item.Mode, mode))}
	}
	return files, missing
}

// fileMode keeps the permission bits, which is what Kubernetes applies.
func fileMode(mode int32) fs.FileMode {
	return fs.FileMode(mode) & fs.ModePerm
}

// write puts the files into the volume, with folders for what other volumes
// mount inside it: the volume is read-only for containers, so the runtime could
// not make them.
func (p preparer) write(dir, volume string, files payload) error {
	for _, nested := range nestedMountPoints(p.pod, volume) {
		if err := os.MkdirAll(filepath.Join(dir, nested), 0o755); err != nil {
			return fmt.Errorf("unable to create nested volume mountpoints: %w", err)
		}
	}
	unlock, err := lockVersions(p.podDir, unix.LOCK_EX)
	if err != nil {
		return err
	}
	defer unlock()
	bound, err := bindsOf(p.podDir, volume)
	if err != nil {
		return err
	}
	return writeAtomically(dir, files, p.fsGroup(), bound)
}

// nestedMountPoints are the paths, relative to the volume, at which containers
// that mount it mount something else. Only the outermost are needed.
func nestedMountPoints(pod *v1.Pod, volume string) []string {
	var out []string
	for _, c := range lifecycle.AllContainers(pod) {
		for _, outer := range c.VolumeMounts {
			if outer.Name != volume || outer.SubPath != "" || outer.SubPathExpr != "" {
				continue
			}
			for _, inner := range c.VolumeMounts {
				if path, ok := below(inner.MountPath, outer.MountPath); ok && !covered(&c, outer.MountPath, inner.MountPath) {
					out = append(out, path)
				}
			}
		}
	}
	return out
}

// covered says whether a third mount lies between the two, which then holds the
// inner mount point.
func covered(c *v1.Container, outer, inner string) bool {
	for _, between := range c.VolumeMounts {
		_, insideOuter := below(between.MountPath, outer)
		_, holdsInner := below(inner, between.MountPath)
		if insideOuter && holdsInner {
			return true
		}
	}
	return false
}

// below is the path of inner relative to outer, if it lies strictly below.
func below(inner, outer string) (string, bool) {
	return strings.CutPrefix(filepath.Clean(inner), filepath.Clean(outer)+"/")
}

func (p preparer) downwardFiles(items []v1.DownwardAPIVolumeFile, defaultMode *int32) (payload, error) {
	var failures []error
	files := payload{}
	for i := range items {
		content, err := criconfig.DownwardFile(p.pod, &items[i], p.sources.Allocatable)
		if err != nil {
			failures = append(failures, err)
		}
		mode := ptr.Deref(items[i].Mode, ptr.Deref(defaultMode, v1.DownwardAPIVolumeSourceDefaultMode))
		files[filepath.Clean(items[i].Path)] = file{data: []byte(content), mode: fileMode(mode)}
	}
	return files, utilerrors.NewAggregate(failures)
}

// LabelCount is what is counted of the SELinux labels of volumes: the name of the metric (A-CSI-19).
type LabelCount string

// What is counted, by access mode. Of volumes, not of containers and pods, by plugin before that.
const (
	LabelContainerErrors        LabelCount = "volume_manager_selinux_container_errors_total"
	LabelContainerWarnings      LabelCount = "volume_manager_selinux_container_warnings_total"
	LabelPodMismatchErrors      LabelCount = "volume_manager_selinux_pod_context_mismatch_errors_total"
	LabelPodMismatchWarnings    LabelCount = "volume_manager_selinux_pod_context_mismatch_warnings_total"
	LabelVolumeMismatchErrors   LabelCount = "volume_manager_selinux_volume_context_mismatch_errors_total"
	LabelVolumeMismatchWarnings LabelCount = "volume_manager_selinux_volume_context_mismatch_warnings_total"
	LabelsAdmitted              LabelCount = "volume_manager_selinux_volumes_admitted_total"
)
