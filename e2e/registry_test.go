package e2e

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"

	"github.com/lifepod/lifepod/e2e/imageregistry"
	"github.com/lifepod/lifepod/internal/assert"
)

// imageRegistry is a registry on loopback, which containerd reaches without TLS.
type imageRegistry struct {
	host     string
	password string // of user "me"; empty lets everybody in

	mu    sync.Mutex
	pulls []string      // manifests that were asked for, by name
	hold  chan struct{} // not nil: layers are answered when it is closed
	held  chan struct{} // a value for each layer that is held
	half  chan struct{} // not nil: of large layers only the first half comes until it is closed
}

func newRegistry(t *testing.T, password string) *imageRegistry {
	t.Helper()
	reg := &imageRegistry{password: password, held: make(chan struct{}, 64)}
	inner := imageregistry.Private(password)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/blobs/") {
			reg.pause(r)
			w = reg.slow(w, r)
		}
		reg.note(r)
		inner.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	reg.host = strings.TrimPrefix(server.URL, "http://")
	return reg
}

func (reg *imageRegistry) note(r *http.Request) {
	path, reference, found := strings.Cut(strings.TrimPrefix(r.URL.Path, "/v2/"), "/manifests/")
	if !found || r.Method != http.MethodHead && r.Method != http.MethodGet || strings.HasPrefix(reference, "sha256:") {
		return
	}
	reg.mu.Lock()
	defer reg.mu.Unlock()
	reg.pulls = append(reg.pulls, path)
}

// asked says how often a name was asked for.
func (reg *imageRegistry) asked(name string) int {
	reg.mu.Lock()
	defer reg.mu.Unlock()
	n := 0
	for _, pulled := range reg.pulls {
		if pulled == name {
			n++
		}
	}
	return n
}

// holdBack makes layers wait from now on; release lets them through.
func (reg *imageRegistry) holdBack() (release func()) {
	reg.mu.Lock()
	defer reg.mu.Unlock()
	hold := make(chan struct{})
	reg.hold = hold
	return sync.OnceFunc(func() {
		close(hold)
		reg.mu.Lock()
		defer reg.mu.Unlock()
		reg.hold = nil
	})
}

// pause waits while layers are held, at most until the client goes away.
func (reg *imageRegistry) pause(r *http.Request) {
	reg.mu.Lock()
	hold := reg.hold
	reg.mu.Unlock()
	if hold == nil {
		return
	}
	reg.held <- struct{}{}
	select {
	case <-hold:
	case <-r.Context().Done():
	}
}

// stopHalfway lets only the first half of large layers through from now on; release lets
// the rest follow.
func (reg *imageRegistry) stopHalfway() (release func()) {
	reg.mu.Lock()
	defer reg.mu.Unlock()
	reg.half = make(chan struct{})
	return sync.OnceFunc(func() { close(reg.half) })
}

func (reg *imageRegistry) slow(w http.ResponseWriter, r *http.Request) http.ResponseWriter {
	reg.mu.Lock()
	defer reg.mu.Unlock()
	if reg.half == nil {
		return w
	}
	return &halfWriter{ResponseWriter: w, gone: r.Context().Done(), goOn: reg.half}
}

// halfWriter waits after half of a large answer.
type halfWriter struct {
	http.ResponseWriter
	gone    <-chan struct{}
	goOn    <-chan struct{}
	written int
}

// large is more than a manifest or a config has.
const large = 64 << 10

func (h *halfWriter) Write(p []byte) (n int, err error) {
	length, _ := strconv.Atoi(h.Header().Get("Content-Length")) // 0: not known, and let through
	first := p[:min(max(length/2-h.written, 0), len(p))]
	if length < large || h.written >= length/2 {
		first = p
	}
	for _, part := range [][]byte{first, p[len(first):]} {
		if length >= large && h.written == length/2 {
			h.ResponseWriter.(http.Flusher).Flush()
			select {
			case <-h.goOn:
			case <-h.gone:
			}
		}
		written, err := h.ResponseWriter.Write(part)
		n, h.written = n+written, h.written+written
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// push puts the toolbox image into the registry; label makes it another image.
func (reg *imageRegistry) push(t *testing.T, path, label string) string {
	t.Helper()
	content := assert.Get(mutate.Config(carriedToolbox(t), v1.Config{
		Env: []string{"PATH=/bin"}, Cmd: []string{"echo", label}, Labels: map[string]string{"label": label},
	})).Must(t)
	return reg.write(t, path, content)
}

// write puts an image into the registry.
func (reg *imageRegistry) write(t *testing.T, path string, content v1.Image) string {
	t.Helper()
	image := assert.Get(imageregistry.Push(reg.host, reg.password, path, content)).Must(t)
	return image
}

// pullSecret is a manifest of a Secret for this registry.
func (reg *imageRegistry) pullSecret(name, password string) string {
	auth := base64.StdEncoding.EncodeToString([]byte("me:" + password))
	config := fmt.Sprintf(`{"auths":{"%s":{"auth":"%s"}}}`, reg.host, auth)
	return fmt.Sprintf("apiVersion: v1\nkind: Secret\nmetadata: {name: %s}\ntype: kubernetes.io/dockerconfigjson\nstringData:\n  .dockerconfigjson: '%s'\n---\n", name, config)
}

// carriedToolbox is the toolbox image as lifepod carries it, from the archive
// that it has unpacked.
func carriedToolbox(t *testing.T) v1.Image {
	t.Helper()
	got := shared.lifepod(t, "", "image", "ls")
	assert.Require(t, got.code == 0, "unpack: %s", got.stderr)
	image := assert.Get(imageregistry.Toolbox(shared.dir)).Must(t)
	return image
}
