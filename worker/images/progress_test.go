package images

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	content "github.com/containerd/containerd/api/services/content/v1"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/grpc"
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
	assert.Must(t, assert.ErrorOf(store.Pull(t.Context(), PullRequest{Image: "r.io:5000/team/app:1", Progress: func(p Progress) {
		assert.True(t, p.Elapsed > 0, "elapsed: want some, got %v", p.Elapsed)
		p.Elapsed = 0
		if !cmp.Equal(last, want, anyRate) {
			last = p
		}
		if reports++; cmp.Equal(last, want, anyRate) || reports == enoughReports {
			open()
		}
	}})))
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

func TestWindow(t *testing.T) {
	second := time.Second
	for name, tc := range map[string]struct {
		samples []sample
		want    []int64
	}{
		"even":               {[]sample{{0, 0}, {second, 100}, {2 * second, 200}}, []int64{0, 100, 100}},
		"the last 5 s count": {[]sample{{0, 0}, {second, 1000}, {2 * second, 1000}, {6 * second, 1000}, {7 * second, 1000}, {8 * second, 1500}}, []int64{0, 1000, 500, 0, 0, 250}},
		"begun again":        {[]sample{{0, 0}, {second, 1000}, {2 * second, 10}, {3 * second, 510}}, []int64{0, 1000, 5, 170}},
		"fewer than before":  {[]sample{{0, 500}, {second, 10}}, []int64{0, 0}},
		"the same moment":    {[]sample{{second, 0}, {second, 10}}, []int64{0, 0}},
		"a long gap":         {[]sample{{0, 0}, {20 * second, 2000}}, []int64{0, 100}},
	} {
		var w window
		var got []int64
		for _, s := range tc.samples {
			got = append(got, w.add(s.elapsed, s.bytes))
		}
		assert.Deep(t, name, tc.want, got)
	}
}

// TestProgressText: what is told of a pull names the layer that it waits for.
func TestProgressText(t *testing.T) {
	const mebi = 1 << 20
	down := func(done, total, rate int64) Layer {
		return Layer{DoneBytes: done * mebi, TotalBytes: total * mebi, BytesPerSecond: rate * mebi, State: LayerDownloading}
	}
	whole := func(state LayerState) Layer { return Layer{DoneBytes: mebi, TotalBytes: mebi, State: state} }
	for _, tc := range []struct {
		p    Progress
		want string
	}{
		{Progress{}, ""},
		{Progress{DoneBytes: 10, TotalBytes: 900, BytesPerSecond: 2000}, "10 of 900 B at 2.0 KiB/s"},
		{Progress{DoneBytes: 10, TotalBytes: 3 << 30, Layers: []Layer{{State: LayerDownloading}}}, "0.0 of 3.0 GiB at 0 B/s"},
		{Progress{DoneBytes: 5, TotalBytes: 10, Layers: []Layer{whole(LayerUnpacking), {State: LayerWaiting}}}, "5 of 10 B at 0 B/s"},
		{
			Progress{DoneBytes: 5, TotalBytes: 10 << 40, Layers: []Layer{whole(LayerUnpacked), down(1, 100, 50), down(1, 10, 1), down(9, 10, 1)}},
			"0.0 of 10.0 TiB at 0 B/s, layer 3 of 4",
		},
		{
			Progress{DoneBytes: 45*mebi + mebi/5, TotalBytes: 120*mebi + mebi/2, BytesPerSecond: 4*mebi + mebi/2, Layers: []Layer{down(1, 9, 0), down(2, 100, 0), down(1, 100, 1)}},
			"45.2 of 120.5 MiB at 4.5 MiB/s, layer 2 of 3",
		},
		{Progress{DoneBytes: 7, TotalBytes: 7, Layers: []Layer{whole(LayerUnpacked), whole(LayerUnpacking), whole(LayerDownloaded)}}, "7 B downloaded, unpacking layer 2 of 3"},
		{Progress{DoneBytes: 7, TotalBytes: 7, Layers: []Layer{whole(LayerUnpacking)}}, "7 B downloaded, unpacking"},
		{Progress{DoneBytes: 7, TotalBytes: 7}, "7 B downloaded, unpacking"},
	} {
		got := tc.p.String()
		assert.True(t, got == tc.want, "%+v:\ngot  %s\nwant %s", tc.p, got, tc.want)
	}
}

func TestShortDigest(t *testing.T) {
	for digest, want := range map[string]string{"sha256:0123456789abcdef": "0123456789ab", "sha256:01": "01", "none": "", "": ""} {
		assert.Equal(t, want, (&Layer{Digest: digest}).ShortDigest(), "%q", digest)
	}
}

// begun notes when pulls begin, without a connection, which virtual time can't wait for.
type begun struct {
	runtimeapi.ImageServiceClient
	mu    sync.Mutex
	start time.Time
	after []time.Duration
}

func (b *begun) PullImage(context.Context, *runtimeapi.PullImageRequest, ...grpc.CallOption) (*runtimeapi.PullImageResponse, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.after = append(b.after, time.Since(b.start))
	return &runtimeapi.PullImageResponse{ImageRef: "id"}, nil
}

func (*begun) ImageStatus(context.Context, *runtimeapi.ImageStatusRequest, ...grpc.CallOption) (*runtimeapi.ImageStatusResponse, error) {
	return &runtimeapi.ImageStatusResponse{Image: &runtimeapi.Image{Id: "id", Size: 1}}, nil
}

// A-IMG-6: pulls begin at the configured rate, after a burst; one beyond it waits.
func TestRate(t *testing.T) {
	second := time.Second
	for name, test := range map[string]struct {
		options Options
		want    []time.Duration
	}{
		"two at once, then two a second": {Options{PerSecond: 2, Burst: 2}, []time.Duration{0, 0, second / 2, second}},
		"a burst of none is one of one":  {Options{PerSecond: 1}, []time.Duration{0, second, 2 * second, 3 * second}},
		"without a rate":                 {Options{Burst: 1}, []time.Duration{0, 0, 0, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				runtime := &begun{start: time.Now()}
				store := New(runtime, test.options)
				var pulls sync.WaitGroup
				for i := range test.want {
					pulls.Go(func() {
						assert.NoError(t, assert.ErrorOf(store.Pull(t.Context(), PullRequest{Image: fmt.Sprintf("r.io/app:%d", i)})))
					})
				}
				pulls.Wait()
				assert.Deep(t, "beginnings", test.want, runtime.after)
			})
		})
	}
}
