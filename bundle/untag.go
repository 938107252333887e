package bundle

import (
	"context"
	"fmt"
	"slices"

	imagesapi "github.com/containerd/containerd/api/services/images/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// UntagImage removes names of an image that has others, which stay: CRI's own call
// removes the image with all its names. The names are those that CRI lists. It
// returns when CRI lists them no more.
func UntagImage(ctx context.Context, socket, imageID string, names ...string) error {
	ctx, conn, err := connect(ctx, socket)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	client := imagesapi.NewImagesClient(conn)
	for _, name := range names {
		_, err := client.Delete(ctx, &imagesapi.DeleteImageRequest{Name: name, Sync: true})
		if err != nil && status.Code(err) != codes.NotFound {
			return fmt.Errorf("remove the name %q: %s", name, status.Convert(err).Message())
		}
	}
	return awaitNames(ctx, cri.NewImageServiceClient(conn), imageID, func(image *cri.Image) bool {
		return !slices.ContainsFunc(names, func(name string) bool {
			return slices.Contains(image.GetRepoTags(), name) || slices.Contains(image.GetRepoDigests(), name)
		})
	})
}
