package bundle

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	leasesapi "github.com/containerd/containerd/api/services/leases/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
)

// leaseTime is how long containerd keeps what an import that was killed left.
const leaseTime = 24 * time.Hour

// leased makes all that is done with the context safe from containerd's garbage
// collector until release is called. Streams need it as well: the collector
// looks for those in use only in namespaces that hold something already, so in
// a new state folder its first turn closes every stream without a lease.
func leased(ctx context.Context, conn *grpc.ClientConn) (_ context.Context, release func(), err error) {
	client := leasesapi.NewLeasesClient(conn)
	id := newLeaseID()
	_, err = client.Create(ctx, &leasesapi.CreateRequest{ID: id, Labels: map[string]string{
		"containerd.io/gc.expire": time.Now().Add(leaseTime).Format(time.RFC3339),
	}})
	if err != nil {
		return nil, nil, fmt.Errorf("lease the images: %w", err)
	}
	release = func() {
		// A lease that stays expires.
		_, _ = client.Delete(context.WithoutCancel(ctx), &leasesapi.DeleteRequest{ID: id})
	}
	return metadata.AppendToOutgoingContext(ctx, "containerd-lease", id), release, nil
}

func newLeaseID() string { return "lifepod-" + rand.Text() }
