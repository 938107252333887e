//go:build realruntime

package images_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/bundle"
	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/worker/images"
)

// The images have one layer each: containerd downloads three layers at a time,
// of all images together, so held ones with more would wait for each other.
const (
	layers     = 1
	layerBytes = 4 << 20
)

// loopback is a registry that wants a password and can hold layers back.
type loopback struct {
	host string

	mu sync.Mutex
	// slow is closed when held layers may arrive whole; nil holds none back.
	slow chan struct{}
	held map[string]bool
}

func newLoopback(t *testing.T) *loopback {
	t.Helper()
	l := &loopback{held: map[string]bool{}}
	inner := registry.New()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); user != "me" || password != "right" {
			w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
			http.Error(w, "who are you", http.StatusUnauthorized)
			return
		}
		inner.ServeHTTP(l.writer(w, r), r)
	}))
	t.Cleanup(server.Close)
	l.host = strings.TrimPrefix(server.URL, "http://")
	return l
}

// holdLayers lets only the first half of each layer through until the returned
// function is called.
func (l *loopback) holdLayers(t *testing.T) (release func()) {
	slow := make(chan struct{})
	l.mu.Lock()
	l.slow = slow
	l.mu.Unlock()
	release = sync.OnceFunc(func() { close(slow) })
	t.Cleanup(release)
	return release
}

func (l *loopback) writer(w http.ResponseWriter, r *http.Request) http.ResponseWriter {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.slow == nil || r.Method != http.MethodGet || !strings.Contains(r.URL.Path, "/blobs/") {
		return w
	}
	slow := l.slow
	return &halfWriter{ResponseWriter: w, wait: func() {
		select {
		case <-slow:
		case <-r.Context().Done():
		}
	}}
}

// halfWriter waits after half a layer.
type halfWriter struct {
	http.ResponseWriter
	wait    func()
	written int
}

func (h *halfWriter) Write(p []byte) (int, error) {
	total := 0
	for len(p) > 0 {
		part := p[:min(len(p), 64<<10)]
		if h.written < layerBytes/2 && h.written+len(part) >= layerBytes/2 {
			h.ResponseWriter.(http.Flusher).Flush()
			h.wait()
		}
		n, err := h.ResponseWriter.Write(part)
		h.written, total, p = h.written+n, total+n, p[n:]
		if err != nil {
			return total, err
		}
	}
	return total, nil
}

// push puts a new image of random layers there.
func (l *loopback) push(t *testing.T, repository string) string {
	t.Helper()
	image := assert.Get(random.Image(layerBytes, layers)).Must(t)
	reference := assert.Get(name.ParseReference(l.host + "/" + repository + ":1")).Must(t)
	assert.Must(t, remote.Write(reference, image, remote.WithAuth(&authn.Basic{Username: "me", Password: "right"})))
	return reference.Name()
}

func secret(host, password string) v1.Secret {
	secret := v1.Secret{
		Type: v1.SecretTypeDockerConfigJson,
		Data: map[string][]byte{v1.DockerConfigJsonKey: fmt.Appendf(nil, `{"auths":{%q:{"username":"me","password":%q}}}`, host, password)},
	}
	secret.Name = "password-" + password
	return secret
}

// openStore starts the bundled runtime below a folder of its own.
func openStore(t *testing.T, period time.Duration) *images.Store {
	t.Helper()
	runtime := assert.Get(bundle.Open(t.Context(), bundle.Config{Root: t.TempDir()})).Must(t)
	t.Cleanup(func() {
		assert.NoError(t, runtime.Close(context.Background()))
		assert.Fails(t, assert.ErrorOf(os.Stat(runtime.Paths().RunDir)), runtime.Paths().RunDir, " was left")
	})
	conn := assert.Get(grpc.NewClient(runtime.Endpoint(), grpc.WithTransportCredentials(insecure.NewCredentials()))).Must(t)
	t.Cleanup(func() { _ = conn.Close() })
	return images.New(runtimeapi.NewImageServiceClient(conn), images.Options{
		Containerd: conn, ProgressPeriod: period,
	})
}

func TestRealRuntime(t *testing.T) {
	store := openStore(t, 20*time.Millisecond)
	l := newLoopback(t)
	t.Run("credentials", func(t *testing.T) { testCredentials(t, store, l) })
	t.Run("refused", func(t *testing.T) { testRefused(t, store, l) })
	t.Run("cancelled", func(t *testing.T) { testCancelled(t, store, l) })
	t.Run("progress", func(t *testing.T) { testProgress(t, store, l) })
}

func testCredentials(t *testing.T, store *images.Store, l *loopback) {
	image := l.push(t, "team/credentials")
	pulled, err := store.Pull(t.Context(), images.PullRequest{
		Image: image, Secrets: []v1.Secret{secret(l.host, "wrong"), secret(l.host, "right")},
	})
	assert.Must(t, err)
	if pulled.Credential == nil || pulled.Credential.SecretName != "password-right" {
		t.Errorf("want the second secret's credential, got %+v", pulled.Credential)
	}
	if !strings.HasPrefix(pulled.Ref, l.host+"/team/credentials@sha256:") || pulled.SizeBytes < layers*layerBytes {
		t.Errorf("want a digest reference and a size of at least %d, got %+v", layers*layerBytes, pulled.Image)
	}
	inspected, err := store.Inspect(t.Context(), image)
	diff := cmp.Diff(&pulled.Image, inspected)
	assert.True(t, diff == "" && err == nil, "Inspect: %v (-want +got):\n%s", err, diff)
	assert.NoError(t, store.Remove(t.Context(), image))
	if inspected, err := store.Inspect(t.Context(), image); inspected != nil || err != nil {
		t.Errorf("after Remove: want nil, got %+v, %v", inspected, err)
	}
	assert.ErrorIs(t, images.ErrNotFound, store.Remove(t.Context(), image), "Remove again")
}

func testRefused(t *testing.T, store *images.Store, l *loopback) {
	image := l.push(t, "team/refused")
	_, err := store.Pull(t.Context(), images.PullRequest{Image: image, Secrets: []v1.Secret{secret("other.io", "right")}})
	var pullErr *images.PullError
	if !errors.As(err, &pullErr) || pullErr.Reason != images.ReasonErrImagePull {
		t.Fatalf("want a PullError of reason ErrImagePull, got %v", err)
	}
	if !strings.Contains(pullErr.Message, image) || !strings.Contains(pullErr.Message, "401") && !strings.Contains(pullErr.Message, "authorization failed") {
		t.Errorf("want a message that names image and cause, got %q", pullErr.Message)
	}
}

func testCancelled(t *testing.T, store *images.Store, l *loopback) {
	image := l.push(t, "team/cancelled")
	release := l.holdLayers(t)
	ctx, cancel := context.WithCancel(t.Context())
	_, err := store.Pull(ctx, images.PullRequest{
		Image: image, Secrets: []v1.Secret{secret(l.host, "right")},
		Progress: func(p images.Progress) {
			if p.DoneBytes > 0 {
				cancel()
			}
		},
	})
	assert.ErrorIs(t, context.Canceled, err)
	release()
	if image, err := store.Inspect(t.Context(), image); image != nil || err != nil {
		t.Errorf("want no image, got %+v, %v", image, err)
	}
}

// Two images arrive at once; each pull counts its own bytes.
func testProgress(t *testing.T, store *images.Store, l *loopback) {
	first, second := l.push(t, "team/first"), l.push(t, "team/second")
	release := l.holdLayers(t)
	var halfway, done sync.WaitGroup
	halfway.Add(2)
	go func() { halfway.Wait(); release() }()
	for _, image := range []string{first, second} {
		done.Go(func() {
			arrived := sync.OnceFunc(halfway.Done)
			_, err := store.Pull(t.Context(), images.PullRequest{
				Image: image, Secrets: []v1.Secret{secret(l.host, "right")},
				Progress: func(p images.Progress) {
					if p.TotalBytes != 0 && (p.TotalBytes < layers*layerBytes || p.TotalBytes > layers*layerBytes*11/10 || p.DoneBytes > p.TotalBytes) {
						t.Errorf("%s: want at most a total of %d, got %+v", image, layers*layerBytes, p)
					}
					if p.DoneBytes > 0 && p.DoneBytes < p.TotalBytes {
						arrived()
					}
				},
			})
			if err != nil {
				t.Errorf("%s: %v", image, err)
				arrived()
			}
		})
	}
	done.Wait()
}
