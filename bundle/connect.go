package bundle

import (
	"context"
	"fmt"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
)

// namespace is the containerd namespace of all that CRI makes.
const namespace = "k8s.io"

// connect connects to containerd's socket, which is given with or without unix://. The context is one for CRI's things.
func connect(ctx context.Context, socket string) (context.Context, *grpc.ClientConn, error) {
	address := "unix://" + strings.TrimPrefix(socket, "unix://")
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, nil, fmt.Errorf("connect to containerd at %s: %w", address, err)
	}
	return metadata.AppendToOutgoingContext(ctx, "containerd-namespace", namespace), conn, nil
}
