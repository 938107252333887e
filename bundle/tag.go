package bundle

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	imagesapi "github.com/containerd/containerd/api/services/images/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// TagImage gives an image another name, which another image may have had. It returns when CRI knows of it.
func TagImage(ctx context.Context, socket, imageID, name string) error {
	ctx, conn, err := connect(ctx, socket)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	client := imagesapi.NewImagesClient(conn)
	answer, err := client.Get(ctx, &imagesapi.GetImageRequest{Name: imageID}) // CRI gives every image this name, too
	if err == nil {
		image := &imagesapi.Image{Name: name, Target: answer.GetImage().GetTarget(), Labels: answer.GetImage().GetLabels()}
		_, err = client.Create(ctx, &imagesapi.CreateImageRequest{Image: image})
		if status.Code(err) == codes.AlreadyExists {
			_, err = client.Update(ctx, &imagesapi.UpdateImageRequest{Image: image})
		}
	}
	if err != nil {
		return fmt.Errorf("give the name %q: %s", name, status.Convert(err).Message())
	}
	return awaitNames(ctx, cri.NewImageServiceClient(conn), imageID, func(image *cri.Image) bool { return slices.Contains(image.GetRepoTags(), name) })
}

// namesPatience is how long CRI may take to hear of names that have changed.
const namesPatience = 10 * time.Second

// awaitNames waits until CRI has heard of an image's names.
func awaitNames(ctx context.Context, client cri.ImageServiceClient, imageID string, heard func(*cri.Image) bool) error {
	ctx, cancel := context.WithTimeoutCause(ctx, namesPatience, errors.New("the names were changed, but CRI does not list them so"))
	defer cancel()
	for {
		answer, err := client.ImageStatus(ctx, &cri.ImageStatusRequest{Image: &cri.ImageSpec{Image: imageID}})
		if err == nil && heard(answer.GetImage()) {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(2 * time.Millisecond): // containerd's event reaches CRI a moment later
		}
	}
}
