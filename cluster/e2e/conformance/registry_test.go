//go:build conformance

package conformance

import (
	"io"
	"log"
	"net"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/registry"

	"github.com/lifepod/lifepod/internal/assert"
)

// serveRegistry serves the images that all tests share, and some more, at listeners of the
// same address, until the test ends.
func serveRegistry(t *testing.T, cache string, more []image, listeners ...net.Listener) {
	t.Helper()
	sources := assert.Get(upstreamSources()).Must(t)
	bin := filepath.Join(cache, "conformance", "bin")
	all := assert.Get(images(bin, sources, filepath.Join(cache, "controlplane", "bin", "etcd"))).Must(t)
	server := &http.Server{Handler: registry.New(registry.Logger(log.New(io.Discard, "", 0)), registry.WithBlobHandler(registry.NewDiskBlobHandler(t.TempDir()))), ReadHeaderTimeout: time.Minute}
	t.Cleanup(func() { _ = server.Close() })
	for _, listener := range listeners {
		go func() {
			assert.ErrorIs(t, http.ErrServerClosed, server.Serve(listener), "the registry")
		}()
	}
	assert.Must(t, push(listeners[0].Addr().String(), bin, filepath.Join(cache, "conformance", "debian.tar"), append(all, more...)))
}
