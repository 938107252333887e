//go:build realruntime

package crifake_test

import (
	"context"
	"testing"

	"github.com/lifepod/lifepod/bundle"
	"github.com/lifepod/lifepod/cri"
	"github.com/lifepod/lifepod/cri/crifake"
	"github.com/lifepod/lifepod/internal/assert"
)

// The bundled containerd. It needs root and the assets of `make build`.
func TestBundled(t *testing.T) {
	r := assert.Get(bundle.Open(t.Context(), bundle.Config{Root: t.TempDir()})).Must(t)
	t.Cleanup(func() {
		assert.NoError(t, r.Close(context.Background()))
	})
	assert.Must(t, assert.ErrorOf(r.ImportImages(t.Context())))
	client := assert.Get(cri.Dial(r.Endpoint())).Must(t)
	t.Cleanup(func() { _ = client.Close() }) // nothing is under way
	for _, check := range crifake.Checks {
		t.Run(check.Name, func(t *testing.T) {
			check.Run(t, crifake.Target{
				Runtime: client.Runtime, Image: "lifepod.dev/toolbox:1",
				CgroupParent: r.CgroupParent(), Command: crifake.Shell,
			})
		})
	}
}
