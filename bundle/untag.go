package bundle

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	imagesapi "github.com/containerd/containerd/api/services/images/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// UntagImage removes names of an image that has others, which stay: CRI's own call
// removes the image with all its names. The names are those that CRI lists. It
// returns when CRI lists them no more.
func UntagImage(ctx context.Context, socket, imageID string, names ...string) error {
	conn, err := grpc.NewClient("unix://"+strings.TrimPrefix(socket, "unix://"), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return fmt.Errorf("remove names of an image: %w", err)
	}
	defer func() { _ = conn.Close() }()
	client := imagesapi.NewImagesClient(conn)
	for _, name := range names {
		_, err := client.Delete(metadata.AppendToOutgoingContext(ctx, "containerd-namespace", namespace), &imagesapi.DeleteImageRequest{Name: name, Sync: true})
		if err != nil && status.Code(err) != codes.NotFound {
			return fmt.Errorf("remove the name %q: %s", name, status.Convert(err).Message())
		}
	}
	return awaitUntagged(ctx, cri.NewImageServiceClient(conn), imageID, names)
}

// untagPatience is how long CRI may take to hear of names that are gone.
const untagPatience = 10 * time.Second

func awaitUntagged(ctx context.Context, client cri.ImageServiceClient, imageID string, names []string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, untagPatience, errors.New("the names were removed, but CRI still lists them"))
	defer cancel()
	for {
		answer, err := client.ImageStatus(ctx, &cri.ImageStatusRequest{Image: &cri.ImageSpec{Image: imageID}})
		if err == nil && !slices.ContainsFunc(names, func(name string) bool {
			return slices.Contains(answer.GetImage().GetRepoTags(), name) || slices.Contains(answer.GetImage().GetRepoDigests(), name)
		}) {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(2 * time.Millisecond): // containerd's event reaches CRI a moment later
		}
	}
}
