package images

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	content "github.com/containerd/containerd/api/services/content/v1"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/internal/assert"
)

// fakeContent is a content store that holds one image's manifest and its first
// layer whole, while its second layer and another image's layer arrive.
type fakeContent struct {
	content.UnimplementedContentServer
}

const manifestBody = `{"config":{"digest":"sha256:c","size":7},"layers":[{"digest":"sha256:a","size":100},{"digest":"sha256:b","size":900},{"digest":"sha256:z","size":50}]}`

func (fakeContent) ListStatuses(ctx context.Context, _ *content.ListStatusesRequest) (*content.ListStatusesResponse, error) {
	md, _ := metadata.FromIncomingContext(ctx)
	if got := strings.Join(md.Get("containerd-namespace"), ""); got != "k8s.io" {
		return nil, status.Errorf(codes.FailedPrecondition, "namespace %q", got)
	}
	return &content.ListStatusesResponse{Statuses: []*content.Status{
		{Ref: "layer-sha256:b", Offset: 300, Total: 900},
		{Ref: "layer-sha256:other", Offset: 5000, Total: 9000},
		{Ref: "config-sha256:c", Offset: 1, Total: 7},
	}}, nil
}

func (fakeContent) List(request *content.ListContentRequest, stream content.Content_ListServer) error {
	want := []string{`labels."containerd.io/distribution.source.r.io"~="(^|,)team/app(,|$)"`}
	if diff := cmp.Diff(want, request.Filters); diff != "" {
		return status.Error(codes.InvalidArgument, diff)
	}
	return stream.Send(&content.ListContentResponse{Info: []*content.Info{
		{Digest: "sha256:a"},
		{Digest: "sha256:stale", Labels: map[string]string{"containerd.io/gc.ref.content.config": "sha256:d"}},
		{Digest: "sha256:m", Labels: map[string]string{"containerd.io/gc.ref.content.config": "sha256:c"}},
	}})
}

func (fakeContent) Read(request *content.ReadContentRequest, stream content.Content_ReadServer) error {
	body := `{"layers":[{"digest":"sha256:old","size":1}]}`
	if request.Digest == "sha256:m" {
		body = manifestBody
	}
	for _, part := range []string{body[:10], body[10:]} {
		if err := stream.Send(&content.ReadContentResponse{Data: []byte(part)}); err != nil {
			return err
		}
	}
	return nil
}

func (fakeContent) Info(_ context.Context, request *content.InfoRequest) (*content.InfoResponse, error) {
	if request.Digest != "sha256:a" {
		return nil, status.Error(codes.NotFound, fmt.Sprintf("content %s: not found", request.Digest))
	}
	return &content.InfoResponse{Info: &content.Info{Digest: "sha256:a", Size: 100}}, nil
}

// anyRate leaves rates out, which follow from when a busy machine came to look.
var anyRate = cmp.Options{cmpopts.IgnoreFields(Progress{}, "BytesPerSecond"), cmpopts.IgnoreFields(Layer{}, "BytesPerSecond")}

// enoughReports is when a test gives up; on a busy machine an observation can
// run out of time.
const enoughReports = 100

// pullWithProgress pulls until progress is as wanted, and returns the last one.
func pullWithProgress(t *testing.T, contents content.ContentServer, want Progress) Progress {
	t.Helper()
	gate := newGate()
	conn := serve(t, &fakeRuntime{onPull: gate.pull}, contents)
	store := New(runtimeapi.NewImageServiceClient(conn), Options{
		Containerd:     conn,
		ProgressPeriod: 50 * time.Millisecond,
	})
	var last Progress
	reports := 0
	open := sync.OnceFunc(func() { close(gate.open) })
	_, err := store.Pull(t.Context(), PullRequest{Image: "r.io:5000/team/app:1", Progress: func(p Progress) {
		if p.Elapsed <= 0 {
			t.Errorf("elapsed: want some, got %v", p.Elapsed)
		}
		p.Elapsed = 0
		if !cmp.Equal(last, want, anyRate) {
			last = p
		}
		if reports++; cmp.Equal(last, want, anyRate) || reports == enoughReports {
			open()
		}
	}})
	assert.Must(t, err)
	return last
}

func TestProgressCountsOwnLayersOnly(t *testing.T) {
	want := Progress{DoneBytes: 400, TotalBytes: 1050, Layers: []Layer{
		{Digest: "sha256:a", DoneBytes: 100, TotalBytes: 100, State: LayerDownloaded},
		{Digest: "sha256:b", DoneBytes: 300, TotalBytes: 900, State: LayerDownloading},
		{Digest: "sha256:z", TotalBytes: 50, State: LayerWaiting},
	}}
	assert.Deep(t, "progress", want, pullWithProgress(t, fakeContent{}, want), anyRate)
}

func TestProgressWithoutContentService(t *testing.T) {
	assert.Deep(t, "progress", Progress{}, pullWithProgress(t, nil, Progress{}))
}
