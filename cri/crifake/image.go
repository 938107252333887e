package crifake

import (
	"context"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

func (r *Runtime) addImage(name string) *runtimeapi.Image {
	image := &runtimeapi.Image{
		Id: "sha256:" + name, RepoTags: []string{name}, RepoDigests: []string{name + "@sha256:9"}, Size: 1000,
		Uid: &runtimeapi.Int64Value{Value: 0},
	}
	switch {
	case r.play != nil:
		_, image.Size = r.play.Image(name)
	case r.disk != nil:
		image.Size = uint64(r.disk.weight(name))
	}
	r.images[name], r.images[image.Id] = image, image
	return image
}

// ImageStatus is one image, nil in the answer if it is not there.
func (r *Runtime) ImageStatus(ctx context.Context, in *runtimeapi.ImageStatusRequest, _ ...callOption) (*runtimeapi.ImageStatusResponse, error) {
	out := &runtimeapi.ImageStatusResponse{}
	err := r.do(ctx, call{rpc: "ImageStatus", subject: subject{text: in.Image.Image, image: in.Image.Image}, effect: func(context.Context) error {
		r.mu.Lock()
		defer r.mu.Unlock()
		name := in.Image.Image
		if r.images[name] == nil && r.play != nil {
			if present, _ := r.play.Image(name); present {
				r.addImage(name)
			}
		}
		out.Image = r.images[name]
		return nil
	}})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// PullImage makes an image present.
func (r *Runtime) PullImage(ctx context.Context, in *runtimeapi.PullImageRequest, _ ...callOption) (*runtimeapi.PullImageResponse, error) {
	out := &runtimeapi.PullImageResponse{}
	err := r.do(ctx, call{rpc: "PullImage", subject: subject{text: in.Image.Image, image: in.Image.Image, pod: in.SandboxConfig}, effect: func(context.Context) error {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.disk != nil && r.images[in.Image.Image] == nil && r.disk.available(r.images) < r.disk.weight(in.Image.Image) {
			return noSpace(in.Image.Image)
		}
		out.ImageRef = r.addImage(in.Image.Image).Id
		return nil
	}})
	if err != nil {
		return nil, err
	}
	return out, nil
}
