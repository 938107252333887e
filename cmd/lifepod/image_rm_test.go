package main

import (
	"context"
	"net"
	"path/filepath"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/worker/images"
)

// containerService is a CRI runtime with containers.
type containerService struct {
	runtimeapi.UnimplementedRuntimeServiceServer
	containers []*runtimeapi.Container
}

func (c containerService) ListContainers(context.Context, *runtimeapi.ListContainersRequest) (*runtimeapi.ListContainersResponse, error) {
	return &runtimeapi.ListContainersResponse{Containers: c.containers}, nil
}

// A name goes alone while the image has others; what a container uses stays unless
// it is forced, and the error says who uses it.
func TestImageRemove(t *testing.T) {
	const app, pause = "sha256:0123456789abcdef", "sha256:fedcba9876543210"
	user := func(id, name string) *runtimeapi.Container {
		return &runtimeapi.Container{
			ImageId: id, ImageRef: id, Image: &runtimeapi.ImageSpec{Image: id, UserSpecifiedImage: name},
			Labels: map[string]string{"io.kubernetes.pod.namespace": "default", "io.kubernetes.pod.name": "web", "io.kubernetes.container.name": "main"},
		}
	}
	usedBy := `it is used by container main of pod default/web: stop the pod, or remove the image with --force`
	for _, tc := range []struct {
		name    string
		uses    []*runtimeapi.Container
		image   string
		force   bool
		untags  []string
		removes []string
		says    string
		err     string
	}{
		{name: "one of two names, with its repository's digest", image: "app:1", untags: []string{"docker.io/library/app:1", "docker.io/library/app@sha256:9"}, says: "docker.io/library/app:1"},
		{name: "the other name", image: "localhost:5000/app", untags: []string{"localhost:5000/app:latest"}, says: "localhost:5000/app:latest"},
		{name: "a name that a container was given", uses: []*runtimeapi.Container{user(app, "app:1"), user(app, "app:1")}, image: "app:1", err: `remove image "app:1": ` + usedBy},
		{name: "another name of an image in use", uses: []*runtimeapi.Container{user(app, "app:1")}, image: "localhost:5000/app", untags: []string{"localhost:5000/app:latest"}, says: "localhost:5000/app:latest"},
		{name: "forced", uses: []*runtimeapi.Container{user(app, "app:1")}, image: "app:1", force: true, untags: []string{"docker.io/library/app:1", "docker.io/library/app@sha256:9"}, says: "docker.io/library/app:1"},
		{name: "by ID with several names", image: app, err: `remove image "` + app + `": it has several names: remove them by name (docker.io/library/app:1, localhost:5000/app:latest), or the image with --force`},
		{name: "by ID with several names, forced", image: app, force: true, removes: []string{app}, says: app},
		{name: "pinned", image: pause, err: `remove image "` + pause + `": it is pinned, because the runtime itself needs it: --force removes it all the same`},
		{name: "pinned, forced", image: pause, force: true, removes: []string{pause}, says: pause},
	} {
		t.Run(tc.name, func(t *testing.T) {
			service := &imageService{}
			socket := filepath.Join(t.TempDir(), "cri.sock")
			listener := assert.Get(net.Listen("unix", socket)).Must(t)
			server := grpc.NewServer()
			runtimeapi.RegisterImageServiceServer(server, service)
			runtimeapi.RegisterRuntimeServiceServer(server, containerService{containers: tc.uses})
			go func() { _ = server.Serve(listener) }()
			defer server.Stop()
			conn := assert.Get(grpc.NewClient("unix://"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()))).Must(t)
			defer func() { _ = conn.Close() }()
			var untagged []string
			session := &imageSession{
				Store:   images.New(runtimeapi.NewImageServiceClient(conn), images.Options{}),
				Runtime: runtimeapi.NewRuntimeServiceClient(conn),
				Untag: func(_ context.Context, id string, names ...string) error {
					assert.Deep(t, "untagged", app, id)
					untagged = names
					return nil
				},
			}
			said, err := session.remove(t.Context(), tc.image, tc.force)
			text := ""
			if err != nil {
				text = err.Error()
			}
			assert.Deep(t, "result", []string{tc.says, tc.err}, []string{said, text})
			assert.Deep(t, "untagged, removed", [][]string{tc.untags, tc.removes}, [][]string{untagged, service.removed})
		})
	}
}
