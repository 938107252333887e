package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/worker/images"
)

// imageService is a CRI image service with two images.
type imageService struct {
	runtimeapi.UnimplementedImageServiceServer
	login   string
	removed []string
}

var serviceImages = []*runtimeapi.Image{
	{
		Id: "sha256:0123456789abcdef", Size: 1234567, Uid: &runtimeapi.Int64Value{Value: 1000},
		RepoTags:    []string{"docker.io/library/app:1", "localhost:5000/app:latest"},
		RepoDigests: []string{"docker.io/library/app@sha256:9"},
	},
	{Id: "sha256:fedcba9876543210", Size: 300, RepoDigests: []string{"r.io/pause@sha256:8"}, Username: "web", Pinned: true},
}

func (*imageService) ListImages(context.Context, *runtimeapi.ListImagesRequest) (*runtimeapi.ListImagesResponse, error) {
	return &runtimeapi.ListImagesResponse{Images: serviceImages}, nil
}

func (*imageService) ImageStatus(_ context.Context, request *runtimeapi.ImageStatusRequest) (*runtimeapi.ImageStatusResponse, error) {
	if request.Image.Image == "localhost/own:2" {
		return &runtimeapi.ImageStatusResponse{Image: &runtimeapi.Image{Id: "sha256:2", Size: 1}}, nil
	}
	for _, image := range serviceImages {
		if image.Id == request.Image.Image || strings.Contains(strings.Join(image.RepoTags, " "), request.Image.Image) {
			info := map[string]string{"info": `{"imageSpec": {"os": "linux", "config": {"Cmd": ["serve"]}}}`}
			return &runtimeapi.ImageStatusResponse{Image: image, Info: info}, nil
		}
	}
	return &runtimeapi.ImageStatusResponse{}, nil
}

func (s *imageService) PullImage(_ context.Context, request *runtimeapi.PullImageRequest) (*runtimeapi.PullImageResponse, error) {
	s.login = request.GetAuth().GetUsername()
	if strings.HasPrefix(request.Image.Image, "r.io/absent") {
		return nil, status.Error(codes.NotFound, "no such image")
	}
	return &runtimeapi.PullImageResponse{ImageRef: serviceImages[0].Id}, nil
}

func (s *imageService) RemoveImage(_ context.Context, request *runtimeapi.RemoveImageRequest) (*runtimeapi.RemoveImageResponse, error) {
	s.removed = append(s.removed, request.Image.Image)
	return &runtimeapi.RemoveImageResponse{}, nil
}

// runImage runs "lifepod image" with the given arguments against the service.
func runImage(t *testing.T, service *imageService, load func(context.Context, io.Reader) ([]string, error), args ...string) (string, error) {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "cri.sock")
	listener := assert.Get(net.Listen("unix", socket)).Must(t)
	server := grpc.NewServer()
	runtimeapi.RegisterImageServiceServer(server, service)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	command := newImageCommand(func(context.Context) (*imageSession, error) {
		conn, err := grpc.NewClient("unix://"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			return nil, err
		}
		return &imageSession{
			Store:    images.New(runtimeapi.NewImageServiceClient(conn), images.Options{}),
			Endpoint: "unix:///run/other.sock",
			Load:     load,
			Close:    conn.Close,
		}, nil
	}, cobra.NoFileCompletions)
	var out bytes.Buffer
	command.SetOut(&out)
	command.SetErr(io.Discard)
	command.SetIn(strings.NewReader("archive"))
	command.SilenceUsage = true
	command.SetArgs(args)
	err := command.ExecuteContext(t.Context())
	return out.String(), err
}

func TestImageList(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"ls"}, "" +
			"IMAGE                   TAG      IMAGE ID        SIZE\n" +
			"docker.io/library/app   1        0123456789abc   1.23MB\n" +
			"localhost:5000/app      latest   0123456789abc   1.23MB\n" +
			"r.io/pause              <none>   fedcba9876543   300B\n"},
		{[]string{"ls", "-o", "wide"}, "" +
			"IMAGE                   TAG      IMAGE ID        SIZE     DIGEST     USER   PINNED\n" +
			"docker.io/library/app   1        0123456789abc   1.23MB   sha256:9   1000   false\n" +
			"localhost:5000/app      latest   0123456789abc   1.23MB   sha256:9   1000   false\n" +
			"r.io/pause              <none>   fedcba9876543   300B     sha256:8   web    true\n"},
	} {
		got := assert.Get(runImage(t, &imageService{}, nil, c.args...)).Must(t)
		assert.Deep(t, fmt.Sprint(c.args), c.want, got)
	}
	got, err := runImage(t, &imageService{}, nil, "ls", "-o", "json")
	assert.True(t, err == nil && strings.HasPrefix(got, "{\n  \"images\": [\n    {\n      \"id\": \"sha256:0123456789abcdef\","),
		"want JSON, got %s, %v", got, err)
}

func TestImagePullWithSecretFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.json")
	assert.Must(t, os.WriteFile(file, []byte(`{"auths":{"r.io":{"auth":"bWU6cHc="}}}`), 0o600))
	service := &imageService{}
	got := assert.Get(runImage(t, service, nil, "pull", "r.io/app", "--secret-file", file)).Must(t)
	assert.Deep(t, "output and login", []string{"r.io/app:latest\n", "me"}, []string{got, service.login})
}

func TestImageInspectAndPrune(t *testing.T) {
	got := assert.Get(runImage(t, &imageService{}, nil, "inspect", "app:1")).Must(t)
	assert.Deep(t, "inspect", `[{"Config":{"Cmd":["serve"]},"Id":"sha256:0123456789abcdef","Os":"linux","RepoDigests":["docker.io/library/app@sha256:9"],`+
		`"RepoTags":["docker.io/library/app:1","localhost:5000/app:latest"],"Size":1234567}]`, strings.Join(strings.Fields(got), ""))
	for _, tc := range []struct{ args, removed string }{{"prune", ""}, {"prune -a", "sha256:0123456789abcdef"}} {
		service := &imageService{}
		assert.Must(t, assert.ErrorOf(runImage(t, service, nil, strings.Fields(tc.args)...)))
		assert.Deep(t, tc.args, tc.removed, strings.Join(service.removed, " "))
	}
}

func TestImageErrors(t *testing.T) {
	loads := func(_ context.Context, archive io.Reader) ([]string, error) {
		if raw, _ := io.ReadAll(archive); string(raw) != "archive" {
			return nil, errors.New("not the archive")
		}
		return nil, errors.New("no images in it")
	}
	for _, c := range []struct {
		load func(context.Context, io.Reader) ([]string, error)
		args string
		want string
	}{
		{nil, "ls -o yaml", `unknown output "yaml": want json or wide`},
		{nil, "pull a -o yaml", `unknown output "yaml": want json`},
		{nil, "pull Bad", `couldn't parse image name "Bad": invalid reference format: repository name (library/Bad) must be lowercase`},
		{nil, "pull r.io/absent", `pull image "r.io/absent:latest": no such image`},
		{nil, "pull a --secret-file /none", `read --secret-file: open /none: no such file or directory`},
		{nil, "rm x:1 r.io/pause@sha256:8 y:1", "remove image \"x:1\": image not found\nremove image \"r.io/pause@sha256:8\": image not found\nremove image \"y:1\": image not found"},
		{nil, "rm app:1", `remove image "app:1": the runtime at unix:///run/other.sock is not containerd, and CRI has no call to remove one of several names: use the runtime's own tool`},
		{nil, "rm", "an argument is missing: want image rm IMAGE... [flags]"},
		{nil, "ls a", `unexpected argument "a": want image ls [flags]`},
		{nil, "rmm", `unknown command "rmm": did you mean image rm?`},
		{nil, "frobnicate", `unknown command "frobnicate": image --help lists them`},
		{nil, "load /none.tar", `load images: open /none.tar: no such file or directory`},
		{nil, "load -", `load images: the runtime at unix:///run/other.sock is not containerd, and CRI has no call to load an archive: use the runtime's own tool`},
		{nil, "save app:1", `save images: the runtime at unix:///run/other.sock is not containerd, and CRI has no call to write an archive: use the runtime's own tool`},
		{nil, "tag app:1 b", `tag images: the runtime at unix:///run/other.sock is not containerd, and CRI has no call to give an image a name: use the runtime's own tool`},
		{nil, "tag app:1 B", `couldn't parse image name "B": invalid reference format: repository name (library/B) must be lowercase`},
		{nil, "tag app:1", "an argument is missing: want image tag IMAGE NAME... [flags]"},
		{nil, "inspect own:2", `inspect image "own:2": image not found: it is here as localhost/own:2`},
		{nil, "inspect docker.io/own:2", `inspect image "docker.io/own:2": image not found`},
		{loads, "load -", `standard input: no images in it`},
	} {
		_, err := runImage(t, &imageService{}, c.load, strings.Fields(c.args)...)
		assert.True(t, err != nil && err.Error() == c.want, "image %s:\nwant %s\ngot  %v", c.args, c.want, err)
	}
}
