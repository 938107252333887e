//go:build realruntime

package bundletest

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/lifepod/lifepod/bundle"
	"github.com/lifepod/lifepod/internal/assert"
)

// saved is what docker save writes for an image without layers.
func saved(t *testing.T, reference string) []byte {
	t.Helper()
	image := assert.Get(mutate.ConfigFile(empty.Image, &v1.ConfigFile{OS: "linux", Architecture: runtime.GOARCH})).Must(t)
	tag := assert.Get(name.NewTag(reference)).Must(t)
	var buffer bytes.Buffer
	assert.Must(t, tarball.Write(tag, image, &buffer))
	return buffer.Bytes()
}

func gzipped(t *testing.T, content []byte) []byte {
	t.Helper()
	var buffer bytes.Buffer
	w := gzip.NewWriter(&buffer)
	assert.Must(t, assert.ErrorOf(w.Write(content)))
	assert.Must(t, w.Close())
	return buffer.Bytes()
}

// carried is the archive of the carried images, an OCI layout.
func carried(t *testing.T, p bundle.Paths) []byte {
	t.Helper()
	return assert.Get(os.ReadFile(filepath.Join(p.Images(), "carried.tar"))).Must(t)
}

func TestLoadImages(t *testing.T) {
	r := open(t, newRoot(t))
	oci := carried(t, r.Paths())
	both := []string{bundle.PauseImage, toolbox}
	for name, test := range map[string]struct {
		archive io.Reader
		want    []string
		err     string
	}{
		"OCI layout":           {archive: bytes.NewReader(oci), want: both},
		"OCI layout, gzipped":  {archive: bytes.NewReader(gzipped(t, oci)), want: both},
		"docker save":          {archive: bytes.NewReader(saved(t, "example.com/a/b:2")), want: []string{"example.com/a/b:2"}},
		"docker save, gzipped": {archive: bytes.NewReader(gzipped(t, saved(t, "busy:1"))), want: []string{"docker.io/library/busy:1"}},
		"cut off":              {archive: bytes.NewReader(oci[:len(oci)/2]), err: "containerd cannot take the archive"},
		"no archive":           {archive: strings.NewReader("hello"), err: "containerd cannot take the archive"},
		"unreadable":           {archive: iotest.ErrReader(errors.New("the disk is broken")), err: "read the archive: the disk is broken"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := bundle.LoadImages(t.Context(), r.Endpoint(), test.archive)
			if test.err != "" {
				assert.True(t, err != nil && strings.Contains(err.Error(), test.err), "error %v, want one with %q", err, test.err)
				return
			}
			assert.Must(t, err)
			assert.Deep(t, "images", test.want, got)
		})
	}
}

func TestImportImagesOnce(t *testing.T) {
	r := open(t, newRoot(t))
	for range 2 {
		got := assert.Get(r.ImportImages(t.Context())).Must(t)
		assert.Deep(t, "images", []string{bundle.PauseImage, toolbox}, got)
	}
}
