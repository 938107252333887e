package imageregistry

import (
	"archive/tar"
	"bytes"
	"fmt"
	"runtime"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// nonRoot is the user of distroless images for programs without root's rights.
const nonRoot = "65532:65532"

// Program is an image of one layer that has a static program, which is its entry point and runs as somebody who is not root.
func Program(name string, program []byte) (v1.Image, error) {
	layer, err := layerOf(name, program)
	if err != nil {
		return nil, fmt.Errorf("make the image of %s: %w", name, err)
	}
	base, err := mutate.ConfigFile(mutate.MediaType(empty.Image, types.OCIManifestSchema1), &v1.ConfigFile{
		Architecture: runtime.GOARCH, OS: "linux", RootFS: v1.RootFS{Type: "layers"},
		Config: v1.Config{User: nonRoot, Entrypoint: []string{"/" + name}, WorkingDir: "/"},
	})
	if err != nil {
		return nil, fmt.Errorf("make the image of %s: %w", name, err)
	}
	return mutate.AppendLayers(mutate.ConfigMediaType(base, types.OCIConfigJSON), static.NewLayer(layer, types.OCIUncompressedLayer))
}

func layerOf(name string, program []byte) ([]byte, error) {
	var layer bytes.Buffer
	archive := tar.NewWriter(&layer)
	if err := archive.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o755, Size: int64(len(program))}); err != nil {
		return nil, err
	}
	if _, err := archive.Write(program); err != nil {
		return nil, err
	}
	err := archive.Close()
	return layer.Bytes(), err
}
