package devices

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	api "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"

	"github.com/lifepod/lifepod/internal/assert"
)

// A-DEV-11: a container whose devices are not known any more gets some before it is created; if it can't,
// it is not, and nothing is taken.
func TestNotKnownAnyMore(t *testing.T) {
	dir := folder(t)
	n := begin(t, dir, nil)
	n.plugin("a.sock", nil, "g0", "g1")
	n.await(gpu, 2, 2)
	got := n.Allocate(t.Context(), podOf("p", "1"))
	assert.Require(t, got.Refusal == nil, "%v", got.Refusal)
	n.stop()
	assert.Must(t, os.WriteFile(n.path(), []byte("damaged"), 0o600))
	n = begin(t, dir, nil)
	n.plugin("b.sock", nil, "g0", "g1")
	n.await(gpu, 2, 2)
	assert.NoError(t, assert.ErrorOf(os.Stat(n.path()+".damaged")), "B-RST-18: the damaged checkpoint is not kept")
	assert.Equal(t, "/dev/g0 /dev/g1 ", n.has(podOf("p", "2"), "main"), "A-DEV-11")
	late := podOf("late", "1")
	assert.ErrorContains(t, "requested number of devices unavailable", assert.ErrorOf(n.Assigned(t.Context(), late, &late.Spec.Containers[0])), "A-DEV-11: a container is created without its devices")
	n.Release("p")
	assert.Equal(t, "/dev/g0 ", n.has(late, "main"), "A-DEV-11")
}

// A-DEV-8: what can't be written down is not given.
func TestCheckpointFails(t *testing.T) {
	dir := folder(t)
	n := begin(t, dir, nil)
	assert.Must(t, os.MkdirAll(filepath.Join(n.path(), "in the way"), 0o700))
	n.plugin("a.sock", nil, "g0")
	n.await(gpu, 1, 1)
	got := n.Allocate(t.Context(), podOf("p", "1"))
	const want = `Allocate failed due to failed to write checkpoint file "kubelet_internal_checkpoint": `
	assert.True(t, got.Refusal != nil && strings.HasPrefix(got.Refusal.Message, want) && len(n.Held()) == 0,
		"A-DEV-8: refusal %+v, held %v", got.Refusal, n.Held())
}

// A-DEV-8: a plugin that wants to be asked which devices are best, and fails then, gives none.
func TestPreferenceFails(t *testing.T) {
	n := begin(t, folder(t), nil)
	n.plugin("a.sock", func(f *devicesFake) {
		f.options, f.silent = &api.DevicePluginOptions{GetPreferredAllocationAvailable: true}, true
	}, "g0", "g1")
	n.await(gpu, 2, 2)
	got := n.Allocate(t.Context(), podOf("p", "1"))
	const want = "Allocate failed due to device plugin GetPreferredAllocation rpc failed with err: rpc error: "
	assert.True(t, got.Refusal != nil && strings.HasPrefix(got.Refusal.Message, want) && len(n.Held()) == 0,
		"A-DEV-8: refusal %+v, held %v", got.Refusal, n.Held())
}
