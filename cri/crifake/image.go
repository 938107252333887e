package crifake

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/utils/ptr"

	"github.com/lifepod/lifepod/sim/scenario"
)

func (r *Runtime) addImage(name string) *runtimeapi.Image {
	image := &runtimeapi.Image{
		Id: "sha256:" + name, RepoTags: []string{name}, RepoDigests: []string{name + "@sha256:9"}, Size: 1000,
		Uid: &runtimeapi.Int64Value{Value: 0},
	}
	switch {
	case r.play != nil:
		says := r.play.Image(name)
		image.Size = uint64(max(1, ptr.Deref(says.Bytes, scenario.UsualBytes))) // one without a size is taken for damaged
	case r.disk != nil:
		image.Size = uint64(r.disk.weight(name))
	}
	r.images[name], r.images[image.Id] = image, image
	return image
}

// ImageStatus is one image, nil in the answer if it is not there.
func (r *Runtime) ImageStatus(ctx context.Context, in *runtimeapi.ImageStatusRequest, _ ...callOption) (*runtimeapi.ImageStatusResponse, error) {
	return ask(ctx, r, call{rpc: "ImageStatus", subject: subject{text: in.Image.Image, image: in.Image.Image}}, func(out *runtimeapi.ImageStatusResponse) error {
		name := in.Image.Image
		if r.images[name] == nil && r.play != nil {
			if says := r.play.Image(name); says.IsPresent(name) {
				r.addImage(name)
			}
		}
		out.Image = r.images[name]
		return nil
	})
}

// PullImage makes an image present.
func (r *Runtime) PullImage(ctx context.Context, in *runtimeapi.PullImageRequest, _ ...callOption) (*runtimeapi.PullImageResponse, error) {
	return ask(ctx, r, call{rpc: "PullImage", subject: subject{text: in.Image.Image, image: in.Image.Image, pod: in.SandboxConfig}}, func(out *runtimeapi.PullImageResponse) error {
		if r.disk != nil && r.images[in.Image.Image] == nil && r.disk.available(r.images) < r.disk.weight(in.Image.Image) {
			return noSpace(in.Image.Image)
		}
		out.ImageRef = r.addImage(in.Image.Image).Id
		return nil
	})
}

// ListContainers lists containers by label.
func (r *Runtime) ListContainers(ctx context.Context, in *runtimeapi.ListContainersRequest, _ ...callOption) (*runtimeapi.ListContainersResponse, error) {
	return ask(ctx, r, call{rpc: "ListContainers"}, func(out *runtimeapi.ListContainersResponse) error {
		for _, c := range r.containersFor(in.GetFilter().GetLabelSelector()) {
			if c.fits(in.GetFilter()) {
				out.Containers = append(out.Containers, &runtimeapi.Container{
					Id: c.id, PodSandboxId: c.sandbox.id, Metadata: c.config.Metadata, State: c.state, CreatedAt: nanoseconds(c.createdAt),
					Labels: c.config.Labels, Annotations: c.config.Annotations, Image: c.config.Image, ImageRef: c.config.GetImage().GetImage(),
				})
			}
		}
		return nil
	})
}

// fits says whether a filter asks for the container.
func (c *container) fits(f *runtimeapi.ContainerFilter) bool {
	return (f.GetId() == "" || f.GetId() == c.id) && (f.GetPodSandboxId() == "" || f.PodSandboxId == c.sandbox.id) &&
		(f.GetState() == nil || f.State.State == c.state) && has(c.config.Labels, f.GetLabelSelector())
}

// containersFor are those that a selector of labels may mean, in the order of their creation; needs mu.
func (r *Runtime) containersFor(selector map[string]string) (list []*container) {
	for _, s := range r.sandboxesFor(selector) {
		list = append(list, s.containers...)
	}
	slices.SortFunc(list, func(a, b *container) int { return cmp.Compare(a.order, b.order) })
	return list
}

// ContainerStatus is one container.
func (r *Runtime) ContainerStatus(ctx context.Context, in *runtimeapi.ContainerStatusRequest, _ ...callOption) (*runtimeapi.ContainerStatusResponse, error) {
	return ask(ctx, r, call{rpc: "ContainerStatus", subject: r.subjectOf(in.ContainerId)}, func(out *runtimeapi.ContainerStatusResponse) error {
		c := r.container(in.ContainerId)
		if c == nil {
			return notFound(in.ContainerId)
		}
		out.Status = c.status()
		return nil
	})
}

func (c *container) status() *runtimeapi.ContainerStatus {
	resources := c.config.GetLinux().GetResources()
	if c.resources != nil {
		resources = c.resources
	}
	path := ""
	if c.config.LogPath != "" {
		path = filepath.Join(c.sandbox.config.LogDirectory, c.config.LogPath)
	}
	return &runtimeapi.ContainerStatus{
		LogPath: path, // with an empty one a kubelet that cleans up removes the files of its working directory
		Id:      c.id, Metadata: c.config.Metadata, State: c.state,
		CreatedAt: nanoseconds(c.createdAt), StartedAt: nanoseconds(c.startedAt), FinishedAt: nanoseconds(c.finishedAt),
		ExitCode: c.exitCode, Reason: c.reason, Message: c.message,
		Image: c.config.Image, ImageRef: c.config.GetImage().GetImage(),
		Resources: &runtimeapi.ContainerResources{Linux: resources},
		User:      &runtimeapi.ContainerUser{Linux: &runtimeapi.LinuxContainerUser{Uid: 7}},
		Labels:    c.config.Labels, Annotations: c.config.Annotations, Mounts: c.config.Mounts,
	}
}

func nanoseconds(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}
