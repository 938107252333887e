package storage

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/container-storage-interface/spec/lib/go/csi"
	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/bench/bare"
)

// Bare gives pods of bare calls a volume each: the calls of the driver that they need, and no others.
type Bare struct {
	driver  *Driver
	handles map[string]string // by pods' names
}

// NewBare makes the volumes.
func (d *Driver) NewBare(ctx context.Context, pods []*v1.Pod) (*Bare, error) {
	b := &Bare{driver: d, handles: map[string]string{}}
	for _, pod := range pods {
		handle, err := d.volume(ctx, pod.Name)
		if err != nil {
			return nil, err
		}
		b.handles[pod.Name] = handle
	}
	return b, nil
}

func (b *Bare) paths(pod *v1.Pod) (staged, published string) {
	return filepath.Join(b.driver.dir, "staged", pod.Name), filepath.Join(b.driver.dir, "pods", string(pod.UID), "data")
}

// Mounts stages and publishes a pod's volume (bare.Runtime.Volumes).
func (b *Bare) Mounts(ctx context.Context, pod *v1.Pod) ([]*runtimeapi.Mount, error) {
	staged, published := b.paths(pod)
	if err := errors.Join(os.MkdirAll(staged, 0o750), os.MkdirAll(filepath.Dir(published), 0o750)); err != nil {
		return nil, err
	}
	handle := b.handles[pod.Name]
	if _, err := b.driver.local.NodeStageVolume(ctx, &csi.NodeStageVolumeRequest{
		VolumeId: handle, StagingTargetPath: staged, VolumeCapability: capability(),
	}); err != nil {
		return nil, err
	}
	if _, err := b.driver.published(ctx, &csi.NodePublishVolumeRequest{
		VolumeId: handle, StagingTargetPath: staged, TargetPath: published, VolumeCapability: capability(),
	}); err != nil {
		return nil, err
	}
	return []*runtimeapi.Mount{{HostPath: published, ContainerPath: mountPath}}, nil
}

// Remove takes the volumes of pods that have gone back, and deletes them.
func (b *Bare) Remove(ctx context.Context, pods []*v1.Pod) error {
	return bare.Together(len(pods), func(i int) error {
		staged, published := b.paths(pods[i])
		handle := b.handles[pods[i].Name]
		_, unpublish := b.driver.local.NodeUnpublishVolume(ctx, &csi.NodeUnpublishVolumeRequest{VolumeId: handle, TargetPath: published})
		_, unstage := b.driver.local.NodeUnstageVolume(ctx, &csi.NodeUnstageVolumeRequest{VolumeId: handle, StagingTargetPath: staged})
		if err := errors.Join(unpublish, unstage); err != nil {
			return err
		}
		return b.driver.remove(ctx, handle)
	})
}
