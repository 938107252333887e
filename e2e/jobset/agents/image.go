package agents

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"runtime"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// programName is the agent's, and that of its image.
const programName = "in-place-restart-agent"

// imageOf is what the agent's own Dockerfile makes, but for its base: that has nothing which the program needs.
func imageOf(program []byte) (v1.Image, error) {
	var layer bytes.Buffer
	archive := tar.NewWriter(&layer)
	if err := archive.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: programName, Mode: 0o755, Size: int64(len(program))}); err != nil {
		return nil, err
	}
	if _, err := archive.Write(program); err != nil {
		return nil, err
	}
	if err := archive.Close(); err != nil {
		return nil, err
	}
	base, err := mutate.ConfigFile(mutate.MediaType(empty.Image, types.OCIManifestSchema1), &v1.ConfigFile{
		Architecture: runtime.GOARCH, OS: "linux", RootFS: v1.RootFS{Type: "layers"},
		Config: v1.Config{User: "65532:65532", Entrypoint: []string{"/" + programName}, WorkingDir: "/"},
	})
	if err != nil {
		return nil, err
	}
	return mutate.AppendLayers(mutate.ConfigMediaType(base, types.OCIConfigJSON), static.NewLayer(layer.Bytes(), types.OCIUncompressedLayer))
}

// imageRegistry is a registry on loopback, which containerd reaches without TLS.
type imageRegistry struct {
	host   string
	server *http.Server
	ended  chan error // what serving has ended with
}

func serveRegistry() (*imageRegistry, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("serve an image: %w", err)
	}
	r := &imageRegistry{
		host: listener.Addr().String(), ended: make(chan error, 1),
		server: &http.Server{Handler: registry.New(registry.Logger(log.New(io.Discard, "", 0)))},
	}
	go func() { r.ended <- r.server.Serve(listener) }()
	return r, nil
}

// push puts an image into the registry, and returns its reference.
func (r *imageRegistry) push(repository string, content v1.Image) (string, error) {
	image := r.host + "/" + repository + ":1"
	reference, err := name.ParseReference(image, name.Insecure)
	if err != nil {
		return "", err
	}
	return image, remote.Write(reference, content)
}

func (r *imageRegistry) close() error {
	err := r.server.Close()
	<-r.ended // it says that it was closed
	return err
}
