package images

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/internal/assert"
)

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
