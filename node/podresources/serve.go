package podresources

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"

	"golang.org/x/time/rate"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	api "k8s.io/kubelet/pkg/apis/podresources/v1"
	"k8s.io/kubelet/pkg/apis/podresources/v1alpha1"
)

// Socket is the name of the socket in its folder.
const Socket = "kubelet.sock"

// How many requests are answered (A-DEV-15).
const (
	perSecond = 100
	atOnce    = 10
)

// Listen makes the socket in a folder, in the place of that of an agent before. What it returns serves
// until ctx ends.
func (s *Server) Listen(dir string) (serve func(context.Context) error, err error) {
	path := filepath.Join(dir, Socket)
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return nil, fmt.Errorf("folder of the pod resources API: %w", err)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("socket of the pod resources API: %w", err)
	}
	listener, err := net.Listen("unix", path)
	if err != nil {
		return nil, fmt.Errorf("listen for the pod resources API: %w", err)
	}
	server := grpc.NewServer(grpc.UnaryInterceptor(limited(rate.NewLimiter(perSecond, atOnce))))
	api.RegisterPodResourcesListerServer(server, s)
	v1alpha1.RegisterPodResourcesListerServer(server, alpha{server: s})
	return func(ctx context.Context) error {
		stop := context.AfterFunc(ctx, server.Stop)
		defer stop()
		if err := server.Serve(listener); err != nil && !errors.Is(err, grpc.ErrServerStopped) {
			return fmt.Errorf("pod resources API: %w", err)
		}
		return nil
	}, nil
}

// limited refuses what comes too often: nobody who asks may keep the node from its work.
func limited(limiter *rate.Limiter) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, request any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		if !limiter.Allow() {
			return nil, status.Error(codes.ResourceExhausted, "rejected by rate limit")
		}
		return next(ctx, request)
	}
}
