package crifake

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// Disk is the file system that the runtime has its images on.
type Disk struct {
	Capacity int64
	Other    int64            // what takes space besides images
	Weights  map[string]int64 // of images, by name; of others: Weight
	Weight   int64

	SandboxImage string // told of sandboxes if asked for more than usual
}

func (d *Disk) weight(name string) int64 { return cmp.Or(d.Weights[name], d.Weight) }

func (d *Disk) available(images map[string]*runtimeapi.Image) int64 {
	left := d.Capacity - d.Other
	for name, image := range images {
		if name == image.Id {
			left -= int64(image.Size)
		}
	}
	return max(0, left)
}

// DiskPath is where the images are.
const DiskPath = "/fake/images"

// ImagesAt sets the folder that the images are said to be in; empty: DiskPath.
func (r *Runtime) ImagesAt(folder string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.imagesAt = folder
}

// Fill changes the images' file system.
func (r *Runtime) Fill(change func(*Disk)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.disk == nil {
		r.disk = &Disk{}
	}
	change(r.disk)
}

// Free is the size of the images' file system, and what of it is available.
func (r *Runtime) Free() (capacity, available int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.disk.Capacity, r.disk.available(r.images)
}

// Pin pins an image.
func (r *Runtime) Pin(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.images[name].Pinned = true
}

func noSpace(image string) error {
	return status.Errorf(codes.Unknown, "failed to pull and unpack image %q: write /fake/images/blob: no space left on device", image)
}

// ListImages lists all images.
func (r *Runtime) ListImages(ctx context.Context, _ *runtimeapi.ListImagesRequest, _ ...callOption) (*runtimeapi.ListImagesResponse, error) {
	return ask(ctx, r, call{rpc: "ListImages"}, func(out *runtimeapi.ListImagesResponse) error {
		for name, image := range r.images {
			if name == image.Id {
				out.Images = append(out.Images, image)
			}
		}
		slices.SortFunc(out.Images, func(a, b *runtimeapi.Image) int { return strings.Compare(a.Id, b.Id) })
		return nil
	})
}

// RemoveImage removes an image with all its names.
func (r *Runtime) RemoveImage(ctx context.Context, in *runtimeapi.RemoveImageRequest, _ ...callOption) (*runtimeapi.RemoveImageResponse, error) {
	return ask(ctx, r, call{rpc: "RemoveImage", subject: subject{text: in.Image.Image, image: in.Image.Image}}, func(*runtimeapi.RemoveImageResponse) error {
		removed := r.images[in.Image.Image]
		for name, image := range r.images {
			if image == removed {
				delete(r.images, name)
			}
		}
		return nil
	})
}

// ImageFsInfo says where the images are.
func (r *Runtime) ImageFsInfo(ctx context.Context, _ *runtimeapi.ImageFsInfoRequest, _ ...callOption) (*runtimeapi.ImageFsInfoResponse, error) {
	r.mu.Lock()
	at, used := cmp.Or(r.imagesAt, DiskPath), uint64(0)
	for name, image := range r.images {
		if name == image.Id {
			used += image.Size
		}
	}
	r.mu.Unlock()
	fs := []*runtimeapi.FilesystemUsage{{
		Timestamp: time.Now().UnixNano(), FsId: &runtimeapi.FilesystemIdentifier{Mountpoint: at},
		UsedBytes: &runtimeapi.UInt64Value{Value: used}, InodesUsed: &runtimeapi.UInt64Value{},
	}}
	return &runtimeapi.ImageFsInfoResponse{ImageFilesystems: fs, ContainerFilesystems: fs}, r.do(ctx, call{rpc: "ImageFsInfo", effect: nothing})
}
