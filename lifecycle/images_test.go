package lifecycle

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lifepod/lifepod/internal/assert"
)

// A-IMG-1.
func TestWithDefaultTag(t *testing.T) {
	digest := "@sha256:" + strings.Repeat("a", 64)
	cases := []struct{ image, want, wantErr string }{
		{image: "busybox", want: "busybox:latest"},
		{image: "busybox:latest", want: "busybox:latest"},
		{image: "busybox:1.36", want: "busybox:1.36"},
		{image: "busybox" + digest, want: "busybox" + digest},
		{image: "busybox:1.36" + digest, want: "busybox:1.36" + digest},
		{image: "localhost:5000/team/app", want: "localhost:5000/team/app:latest"},
		{image: "docker.io/library/latest", want: "docker.io/library/latest:latest"},
		{image: "Busybox", wantErr: `couldn't parse image name "Busybox": invalid reference format: repository name (library/Busybox) must be lowercase`},
		{image: "", wantErr: `couldn't parse image name "": invalid reference format`},
		{image: "a b", wantErr: `couldn't parse image name "a b": invalid reference format`},
	}
	for _, c := range cases {
		got, err := WithDefaultTag(c.image)
		gotErr := ""
		if err != nil {
			gotErr = err.Error()
		}
		diff := cmp.Diff([]string{c.want, c.wantErr}, []string{got, gotErr})
		assert.True(t, diff == "", "WithDefaultTag(%q) (-want +got):\n%s", c.image, diff)
	}
}

// withImages: a container is created with the images of exactly the image volumes
// that it mounts (A-IMG-10).
func (l *invariants) withImages(w *walk, e CreateContainer) {
	mounts := len(w.m.containerNamed(e.Container).spec.VolumeMounts) // of the one volume that random pods have
	if len(e.Volumes) != mounts {
		l.t.Fatalf("%s is created with %d images for %d mounts", e.Container, len(e.Volumes), mounts)
	}
	for _, v := range e.Volumes {
		if v.Image.ID == "" {
			l.t.Fatalf("%s is created without the image of volume %s", e.Container, v.Volume)
		}
	}
}
