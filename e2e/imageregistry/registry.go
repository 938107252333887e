package imageregistry

import (
	"errors"
	"net"
	"net/http"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// Registry is a registry on loopback, which containerd reaches without TLS.
type Registry struct {
	host   string
	server *http.Server
	ended  chan error // what serving has ended with
}

// Serve serves images at the listener, until Close.
func Serve(listener net.Listener) *Registry {
	r := &Registry{
		host: listener.Addr().String(), ended: make(chan error, 1),
		server: &http.Server{Handler: Private(""), ReadHeaderTimeout: time.Minute},
	}
	go func() { r.ended <- r.server.Serve(listener) }()
	return r
}

// Push puts an image into the registry, and returns its reference.
func (r *Registry) Push(repository string, content v1.Image) (string, error) {
	return Push(r.host, "", repository, content)
}

// Close ends the registry. Runtimes that have pulled an image keep it.
func (r *Registry) Close() error {
	err := r.server.Close()
	if served := <-r.ended; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}
