package bundle

import (
	"context"
	"fmt"
	"strings"

	leasesapi "github.com/containerd/containerd/api/services/leases/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
)

// CollectImages has containerd remove what nothing refers to any more, and returns
// when it has: the writable layers of removed containers above all. A
// containerd that is stopped soon after a removal would never get to it, because
// its collector looks only for what was removed in its own time.
func CollectImages(ctx context.Context, socket string) error {
	conn, err := grpc.NewClient("unix://"+strings.TrimPrefix(socket, "unix://"),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return fmt.Errorf("collect garbage: %w", err)
	}
	defer func() { _ = conn.Close() }()
	ctx = metadata.AppendToOutgoingContext(ctx, "containerd-namespace", namespace)
	client, id := leasesapi.NewLeasesClient(conn), newLeaseID()
	if _, err := client.Create(ctx, &leasesapi.CreateRequest{ID: id}); err != nil {
		return fmt.Errorf("collect garbage: %w", err)
	}
	if _, err := client.Delete(ctx, &leasesapi.DeleteRequest{ID: id, Sync: true}); err != nil {
		return fmt.Errorf("collect garbage: %w", err)
	}
	return nil
}
