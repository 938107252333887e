package imageregistry

import (
	"archive/tar"
	"bytes"
	"cmp"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// nonRoot is the user of distroless images for programs without root's rights.
const nonRoot = "65532:65532"

// Program is an image of one layer that has a static program, which is its entry point and runs as somebody who is not root.
func Program(name string, program []byte) (v1.Image, error) {
	layer, err := Layer([]File{{Name: name, Mode: 0o755, Content: program}}, tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, fmt.Errorf("make the image of %s: %w", name, err)
	}
	base := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	return imageOf(base, v1.Config{User: nonRoot, Entrypoint: []string{"/" + name}, WorkingDir: "/"}, layer)
}

// imageOf puts layers on a base.
func imageOf(base v1.Image, config v1.Config, layers ...v1.Layer) (v1.Image, error) {
	made, err := mutate.AppendLayers(base, layers...)
	if err != nil {
		return nil, err
	}
	rest, err := made.ConfigFile()
	if err != nil {
		return nil, err
	}
	return mutate.ConfigFile(made, &v1.ConfigFile{OS: "linux", Architecture: runtime.GOARCH, Config: config, RootFS: rest.RootFS})
}

// PushAll makes an image of layers and puts it into the registry at host under all the names.
func PushAll(host string, names []string, config v1.Config, layers ...v1.Layer) error {
	config.Env = []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
	made, err := imageOf(empty.Image, config, layers...)
	if err != nil {
		return err
	}
	for _, tagged := range names {
		reference, err := name.ParseReference(host + "/" + tagged)
		if err != nil {
			return err
		}
		if err := remote.Write(reference, made); err != nil {
			return fmt.Errorf("push %s: %w", reference, err)
		}
	}
	return nil
}

// File is one of a layer: with content, or a link to a target. A name that ends with a
// slash is a folder.
type File struct {
	Name    string
	Mode    int64
	Content []byte
	Target  string
	Hard    bool // not a symbolic link
}

func Layer(files []File, options ...tarball.LayerOption) (v1.Layer, error) {
	slices.SortFunc(files, func(a, b File) int { // what hard links lead to comes first
		if a.Hard != b.Hard {
			return cmp.Compare(fmt.Sprint(a.Hard), fmt.Sprint(b.Hard))
		}
		return strings.Compare(a.Name, b.Name)
	})
	var out bytes.Buffer
	archive := tar.NewWriter(&out)
	for _, f := range files {
		header := tar.Header{Typeflag: tar.TypeReg, Name: f.Name, Mode: f.Mode, Size: int64(len(f.Content))}
		switch {
		case f.Hard:
			header.Typeflag, header.Linkname = tar.TypeLink, f.Target
		case f.Target != "":
			header.Typeflag, header.Linkname, header.Mode = tar.TypeSymlink, f.Target, 0o777
		case strings.HasSuffix(f.Name, "/"):
			header.Typeflag = tar.TypeDir
		}
		if err := archive.WriteHeader(&header); err != nil {
			return nil, err
		}
		if _, err := archive.Write(f.Content); err != nil {
			return nil, err
		}
	}
	if err := archive.Close(); err != nil {
		return nil, err
	}
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(out.Bytes())), nil }, options...)
}
