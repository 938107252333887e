package space

import (
	"context"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/cri"
	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/worker/images"
)

// named says that a reference, as somebody has written it, means an image with one of
// these tags and digests.
func named(reference string, names []string) bool {
	if slices.Contains(names, reference) {
		return true
	}
	full := images.FullName(reference)
	if full == "" {
		return false
	}
	if name, digest, found := strings.Cut(full, "@"); found { // a tag beside a digest says nothing
		if slash := strings.LastIndexByte(name, '/'); strings.LastIndexByte(name, ':') > slash {
			name = name[:strings.LastIndexByte(name, ':')]
		}
		full = name + "@" + digest
	}
	return slices.Contains(names, full)
}

// referencesOf are the images that a pod names: those of its containers, also of those
// that have not been created yet, and of its volumes.
func referencesOf(pod *v1.Pod) (list []string) {
	for _, c := range lifecycle.AllContainers(pod) {
		list = append(list, c.Image)
	}
	for i := range pod.Spec.Volumes {
		if source := pod.Spec.Volumes[i].Image; source != nil {
			list = append(list, source.Reference)
		}
	}
	return list
}

// uses are what the runtime knows of the uses of images. Containers of others count, too:
// of another lifepod, or of whoever else uses the runtime.
type uses struct {
	runtime runtimeapi.RuntimeServiceClient
	volumes map[string][]string // by container: the images that it mounts, which never change
	sandbox string              // image of the sandboxes; empty if not known
}

// list are the names and IDs of the images that containers use, running or dead, and of
// the sandboxes' image.
func (u *uses) list(ctx context.Context) ([]string, error) {
	answer, err := u.runtime.ListContainers(ctx, &runtimeapi.ListContainersRequest{})
	if err != nil {
		return nil, fmt.Errorf("list the runtime's containers: %s", cri.Text(err))
	}
	var list []string
	mounted := make(map[string][]string, len(answer.Containers))
	for _, c := range answer.Containers {
		list = append(list, c.GetImage().GetImage(), c.ImageRef, c.ImageId)
		volumes, known := u.volumes[c.Id]
		if !known {
			if volumes, err = u.volumesOf(ctx, c.Id); err != nil {
				return nil, err
			}
		}
		mounted[c.Id] = volumes
		list = append(list, volumes...)
	}
	u.volumes = mounted
	if err := u.learnSandboxImage(ctx); err != nil {
		return nil, err
	}
	return append(list, u.sandbox), nil
}

// volumesOf are the images that a container mounts.
func (u *uses) volumesOf(ctx context.Context, id string) (list []string, err error) {
	answer, err := u.runtime.ContainerStatus(ctx, &runtimeapi.ContainerStatusRequest{ContainerId: id})
	if cri.IsNotFound(err) {
		return nil, nil // it has just been removed
	}
	if err != nil {
		return nil, fmt.Errorf("get container status: %s", cri.Text(err))
	}
	for _, mount := range answer.GetStatus().GetMounts() {
		if image := mount.GetImage().GetImage(); image != "" {
			list = append(list, image)
		}
	}
	return list, nil
}

// learnSandboxImage asks a sandbox for its image. Most runtimes pin it besides.
func (u *uses) learnSandboxImage(ctx context.Context) error {
	if u.sandbox != "" {
		return nil
	}
	answer, err := u.runtime.ListPodSandbox(ctx, &runtimeapi.ListPodSandboxRequest{})
	if err != nil {
		return fmt.Errorf("list the runtime's sandboxes: %s", cri.Text(err))
	}
	if len(answer.Items) > 0 {
		u.sandbox = cri.SandboxImage(ctx, u.runtime, answer.Items[0].Id)
	}
	return nil
}

// markUsed files which images are meant by names and IDs.
func markUsed(all []Image, names []string) {
	byID := make(map[string]bool, len(names))
	for _, name := range names {
		byID[name] = true
	}
	for i := range all {
		image := &all[i]
		image.Used = byID[image.ID] || slices.ContainsFunc(image.Names, func(n string) bool { return byID[n] })
	}
	for _, name := range names {
		for i := range all {
			if !all[i].Used && name != "" && named(name, all[i].Names) {
				all[i].Used = true
			}
		}
	}
}
