package bundle

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"

	streamingapi "github.com/containerd/containerd/api/services/streaming/v1"
	transferapi "github.com/containerd/containerd/api/services/transfer/v1"
	"github.com/containerd/containerd/api/types"
	"github.com/containerd/containerd/api/types/transfer"
	"google.golang.org/grpc/status"
)

// SaveImages writes an archive of images, by the names that CRI lists, for LoadImages and docker load. It has what this machine's platform
// needs.
func SaveImages(ctx context.Context, socket string, archive io.Writer, names ...string) error {
	ctx, conn, err := connect(ctx, socket)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	ctx, release, err := leased(ctx, conn)
	if err != nil {
		return err
	}
	defer release()
	download, err := openStream(ctx, streamingapi.NewStreamingClient(conn))
	if err != nil {
		return err
	}
	sent, received := io.Pipe()
	go func() { _ = received.CloseWithError(download.receive(received)) }()
	whole := make(chan error, 1)
	go func() {
		err := readTar(io.TeeReader(sent, archive))
		if err != nil {
			cancel(err) // containerd would wait for a reader
		}
		whole <- err
	}()
	here := []*types.Platform{{OS: "linux", Architecture: runtime.GOARCH}}
	from := &transfer.ImageStore{Platforms: here}
	for _, name := range names {
		from.ExtraReferences = append(from.ExtraReferences, &transfer.ImageReference{Name: name})
	}
	source, err := packAny(from)
	if err != nil {
		return err
	}
	destination, err := packAny(&transfer.ImageExportStream{Stream: download.id, Platforms: here})
	if err != nil {
		return err
	}
	_, err = transferapi.NewTransferClient(conn).Transfer(ctx, &transferapi.TransferRequest{Source: source, Destination: destination})
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("save images: %w", context.Cause(ctx))
	case err != nil:
		return fmt.Errorf("save images: %s", status.Convert(err).Message())
	}
	return <-whole
}

// readTar reads a tar to its end: containerd does not say that it has sent all.
func readTar(r io.Reader) error {
	for in := tar.NewReader(r); ; {
		if _, err := in.Next(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}
