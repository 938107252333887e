package bundle

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"time"

	streamingapi "github.com/containerd/containerd/api/services/streaming/v1"
	transferapi "github.com/containerd/containerd/api/services/transfer/v1"
	"github.com/containerd/containerd/api/types"
	"github.com/containerd/containerd/api/types/transfer"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// LoadImages stores the images of an archive, as written by docker save or in
// the OCI layout, plain or gzipped, and returns their full names, sorted, once
// CRI sees them. An archive whose images have no name is refused, because nobody
// could refer to them.
func LoadImages(ctx context.Context, socket string, archive io.Reader) ([]string, error) {
	ctx, conn, err := connect(ctx, socket)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close() }()
	names, err := transferArchive(ctx, conn, archive)
	if err != nil {
		return nil, fmt.Errorf("load images: %w", err)
	}
	if len(names) == 0 {
		return nil, errors.New("load images: the archive has no image with a name; save it by name, as in `docker save NAME:TAG`")
	}
	slices.Sort(names)
	names = slices.Compact(names)
	if err := awaitCRI(ctx, conn, names); err != nil {
		return nil, fmt.Errorf("load images: %w", err)
	}
	return names, nil
}

// transferArchive returns the names of the images that were stored.
func transferArchive(ctx context.Context, conn *grpc.ClientConn, archive io.Reader) ([]string, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	ctx, release, err := leased(ctx, conn)
	if err != nil {
		return nil, err
	}
	defer release()
	client := streamingapi.NewStreamingClient(conn)
	upload, err := openStream(ctx, client)
	if err != nil {
		return nil, err
	}
	progress, err := openStream(ctx, client)
	if err != nil {
		return nil, err
	}
	go func() {
		// A half-read archive must not be taken for a whole one.
		if err := upload.send(archive); err != nil {
			cancel(err)
		}
	}()
	names := make(chan []string, 1)
	go func() { names <- savedNames(progress) }()

	source, err := packAny(&transfer.ImageImportStream{Stream: upload.id})
	if err != nil {
		return nil, err
	}
	destination, err := packAny(imageStore())
	if err != nil {
		return nil, err
	}
	_, err = transferapi.NewTransferClient(conn).Transfer(ctx, &transferapi.TransferRequest{
		Source:      source,
		Destination: destination,
		Options:     &transferapi.TransferOptions{ProgressStream: progress.id},
	})
	if err != nil {
		return nil, explain(ctx, err)
	}
	return <-names, nil
}

// explain prefers what went wrong with reading the archive.
func explain(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	s, ok := status.FromError(err)
	if !ok || s.Code() == codes.Unavailable {
		return err
	}
	return fmt.Errorf("containerd cannot take the archive (it must be what docker save writes, or an OCI layout in a tar, plain or gzipped): %s", s.Message())
}

// imageStore says what to do with the images: to keep the names that the
// archive gives them, and to unpack this machine's platform. CRI takes them over
// by itself, and adds the name by ID that an image volume needs.
func imageStore() *transfer.ImageStore {
	here := &types.Platform{OS: "linux", Architecture: runtime.GOARCH}
	return &transfer.ImageStore{
		Platforms: []*types.Platform{here},
		ExtraReferences: []*transfer.ImageReference{
			// A tag without a name becomes a tag of this one.
			{Name: "lifepod.dev/imported", IsPrefix: true, AllowOverwrite: true},
		},
		Unpacks: []*transfer.UnpackConfiguration{{Platform: here}},
	}
}

// savedNames reads the progress until the transfer ends.
func savedNames(progress *stream) []string {
	var names []string
	for {
		message, err := progress.client.Recv()
		if err != nil {
			return names
		}
		var p transfer.Progress
		if unpack(message, &p) == nil && p.GetEvent() == "saved" {
			names = append(names, p.GetName())
		}
	}
}

// awaitCRI waits until CRI has heard of the images; it learns of them from
// containerd's events, a moment later.
func awaitCRI(ctx context.Context, conn *grpc.ClientConn, names []string) error {
	client := cri.NewImageServiceClient(conn)
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	for _, name := range names {
		for {
			answer, err := client.ImageStatus(ctx, &cri.ImageStatusRequest{Image: &cri.ImageSpec{Image: name}})
			if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return fmt.Errorf("image %q was stored, but CRI does not list it", name)
			}
			if err != nil {
				return fmt.Errorf("ask CRI for image %q: %w", name, err)
			}
			if answer.GetImage() != nil {
				break
			}
			time.Sleep(2 * time.Millisecond)
		}
	}
	return nil
}
