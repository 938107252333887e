package bundle

import (
	"context"
	"fmt"

	leasesapi "github.com/containerd/containerd/api/services/leases/v1"
)

// CollectImages has containerd remove what nothing refers to any more, and returns
// when it has: the writable layers of removed containers above all. A
// containerd that is stopped soon after a removal would never get to it, because
// its collector looks only for what was removed in its own time.
func CollectImages(ctx context.Context, socket string) error {
	ctx, conn, err := connect(ctx, socket)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	client, id := leasesapi.NewLeasesClient(conn), newLeaseID()
	if _, err := client.Create(ctx, &leasesapi.CreateRequest{ID: id}); err != nil {
		return fmt.Errorf("collect garbage: %w", err)
	}
	if _, err := client.Delete(ctx, &leasesapi.DeleteRequest{ID: id, Sync: true}); err != nil {
		return fmt.Errorf("collect garbage: %w", err)
	}
	return nil
}
