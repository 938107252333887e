package images

import (
	"context"
	"net"
	"path/filepath"
	"sync"
	"testing"

	content "github.com/containerd/containerd/api/services/content/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/internal/assert"
)

// fakeRuntime is a CRI image service, with containerd's content service beside it.
type fakeRuntime struct {
	runtimeapi.UnimplementedImageServiceServer

	// onPull answers a pull; nil pulls at once.
	onPull func(ctx context.Context, request *runtimeapi.PullImageRequest) error

	mu     sync.Mutex
	stored map[string]*runtimeapi.Image
	users  []string
}

func (f *fakeRuntime) PullImage(ctx context.Context, request *runtimeapi.PullImageRequest) (*runtimeapi.PullImageResponse, error) {
	f.mu.Lock()
	f.users = append(f.users, request.GetAuth().GetUsername()+":"+request.GetAuth().GetPassword())
	f.mu.Unlock()
	if f.onPull != nil {
		if err := f.onPull(ctx, request); err != nil {
			return nil, err
		}
	}
	f.store("sha256:1", "docker.io/library/app:1")
	return &runtimeapi.PullImageResponse{ImageRef: "sha256:1"}, nil
}

func (f *fakeRuntime) ImageStatus(_ context.Context, request *runtimeapi.ImageStatusRequest) (*runtimeapi.ImageStatusResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return &runtimeapi.ImageStatusResponse{Image: f.stored[request.Image.Image]}, nil
}

func (f *fakeRuntime) RemoveImage(_ context.Context, request *runtimeapi.RemoveImageRequest) (*runtimeapi.RemoveImageResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for name, image := range f.stored {
		if image.Id == request.Image.Image {
			delete(f.stored, name)
		}
	}
	return &runtimeapi.RemoveImageResponse{}, nil
}

func (f *fakeRuntime) store(id, tag string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	image := &runtimeapi.Image{
		Id:          id,
		RepoTags:    []string{tag},
		RepoDigests: []string{"docker.io/library/app@sha256:9"},
		Size:        123,
		Uid:         &runtimeapi.Int64Value{Value: 1000},
	}
	if f.stored == nil {
		f.stored = map[string]*runtimeapi.Image{}
	}
	f.stored[id], f.stored[tag] = image, image
}

// attempts are the user names and passwords of the pulls so far.
func (f *fakeRuntime) attempts() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]string(nil), f.users...)
}

// serve puts the fake behind a unix socket and returns a connection to it.
func serve(t *testing.T, fake *fakeRuntime, contents content.ContentServer) *grpc.ClientConn {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "cri.sock")
	listener := assert.Get(net.Listen("unix", socket)).Must(t)
	server := grpc.NewServer()
	runtimeapi.RegisterImageServiceServer(server, fake)
	if contents != nil {
		content.RegisterContentServer(server, contents)
	}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	conn := assert.Get(grpc.NewClient("unix://"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()))).Must(t)
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func newStore(t *testing.T, fake *fakeRuntime, options Options) *Store {
	t.Helper()
	return New(runtimeapi.NewImageServiceClient(serve(t, fake, nil)), options)
}
