//go:build realruntime

package bundletest

import (
	"context"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/internal/assert"
)

// The layers of one image whose registry stalls don't hold up another image.
func TestSlowLayersDoNotHoldUpOthers(t *testing.T) {
	const layers = 5
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	stalled, released := make(chan string, 100), make(chan struct{})
	var config atomic.Value
	config.Store("none")
	stored := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// The layers are asked for once the configuration is there.
		isLayer := strings.Contains(r.URL.Path, "/slow/blobs/") && !strings.HasSuffix(r.URL.Path, config.Load().(string))
		if r.Method == http.MethodGet && isLayer {
			stalled <- r.URL.Path
			select {
			case <-released:
			case <-r.Context().Done():
			}
		}
		stored.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	host := strings.TrimPrefix(server.URL, "http://")
	pushRandom(t, host+"/fast", layers)
	config.Store(pushRandom(t, host+"/slow", layers))
	r := open(t, newRoot(t))
	conn, err := grpc.NewClient(r.Endpoint(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	assert.Must(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	pull := func(repository string) error {
		_, err := cri.NewImageServiceClient(conn).PullImage(ctx, &cri.PullImageRequest{Image: &cri.ImageSpec{Image: host + "/" + repository}})
		return err
	}
	slow := make(chan error, 1)
	go func() { slow <- pull("slow") }()
	// More than the three that containerd allows all images together.
	for n := range layers {
		select {
		case <-stalled:
		case <-ctx.Done():
			t.Fatalf("%d layers are downloaded at once, want %d", n, layers)
		}
	}
	assert.NoError(t, pull("fast"), "pull beside an image that stalls")
	close(released)
	assert.NoError(t, <-slow, "pull of the image that stalled")
}

// pushRandom returns the digest of the image's configuration.
func pushRandom(t *testing.T, repository string, layers int64) string {
	t.Helper()
	reference := assert.Get(name.ParseReference(repository)).Must(t)
	image := assert.Get(random.Image(1024, layers)).Must(t)
	assert.Must(t, remote.Write(reference, image))
	digest := assert.Get(image.ConfigName()).Must(t)
	return digest.String()
}
