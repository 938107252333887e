package e2e

import (
	"path/filepath"
	"testing"
)

// TestWritableLayers: what containers wrote beside their volumes goes with them,
// however soon lifepod ends after that.
func TestWritableLayers(t *testing.T) {
	t.Parallel()
	r := newRoot(t)
	const images = 2 // pause and toolbox, a layer each
	for range 3 {
		if got := r.run(t, script("writes", "seq 1 100000 > /file")); got.code != 0 {
			t.Fatalf("exit code %d\n%s", got.code, got.stderr)
		}
		layers, err := filepath.Glob(filepath.Join(r.dir, "containerd/io.containerd.snapshotter.v1.*/snapshots/*"))
		if err != nil {
			t.Fatal(err)
		}
		if len(layers) != images {
			t.Errorf("%d layers are left, the images have %d", len(layers), images)
		}
	}
}
