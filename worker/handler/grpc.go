package handler

import (
	"context"
	"net"
	"strconv"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/cri"
)

// grpc asks the gRPC health service (A-PROBE-12, KEP-2727). Connecting and asking
// share the one timeout; a refused connection is a failure at once.
func (a ProbeAttempt) grpc(ctx context.Context, g *v1.GRPCAction) ProbeResult {
	ctx, cancel := context.WithTimeout(ctx, a.timeout())
	defer cancel()
	ctx, lacks := context.WithCancelCause(ctx)
	defer lacks(nil)
	address := net.JoinHostPort(a.PodIP, strconv.Itoa(int(g.Port)))
	connection, err := grpc.NewClient("passthrough:///"+address,
		grpc.WithUserAgent(ProbeAgent),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, address string) (net.Conn, error) {
			made, err := Dial(ctx, "tcp", address)
			if cri.Lacking(err) {
				lacks(err)
			}
			return made, err
		}))
	if err != nil {
		return failure("error: failed to connect service at %q: %v", address, err)
	}
	defer func() { _ = connection.Close() }() // the answer is there, or none comes
	request := &grpc_health_v1.HealthCheckRequest{}
	if g.Service != nil {
		request.Service = *g.Service
	}
	answer, err := grpc_health_v1.NewHealthClient(connection).Check(ctx, request)
	if lack := context.Cause(ctx); cri.Lacking(lack) {
		return errored(lack)
	}
	switch status.Code(err) {
	case codes.OK:
	case codes.Unimplemented:
		return failure("error: this server does not implement the grpc health protocol (grpc.health.v1.Health): %s", status.Convert(err).Message())
	case codes.DeadlineExceeded:
		if connection.GetState() != connectivity.Ready {
			return failure("timeout: failed to connect service %q within %v: %v", address, a.timeout(), context.DeadlineExceeded)
		}
		return failure("timeout: health rpc did not complete within %v", a.timeout())
	default:
		return failure("error: health rpc probe failed: %v", err)
	}
	if answer.GetStatus() != grpc_health_v1.HealthCheckResponse_SERVING {
		return failure("service unhealthy (responded with %q)", answer.GetStatus())
	}
	return success("service healthy")
}
