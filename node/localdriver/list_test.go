package localdriver

import (
	"slices"
	"testing"

	"github.com/container-storage-interface/spec/lib/go/csi"

	"github.com/lifepod/lifepod/internal/assert"
)

// A volume says that no pod had it yet until it is staged for one, also if it is a copy of one that
// was used.
func TestUnused(t *testing.T) {
	m := newMachine(t)
	unused := func() (ids []string) {
		list, err := m.ListVolumes(t.Context(), &csi.ListVolumesRequest{})
		assert.Must(t, err)
		for _, entry := range list.GetEntries() {
			if Unused(entry.GetVolume()) {
				ids = append(ids, entry.GetVolume().GetVolumeId())
			}
		}
		return ids
	}
	m.create("a", 16*megabyte, false, nil)
	m.create("b", 16*megabyte, true, nil)
	if got := unused(); !slices.Equal(got, []string{"node-a:a", "node-a:b"}) {
		t.Errorf("unused at first: %q", got)
	}
	m.use("a", false)
	m.use("b", true)
	m.create("c", 16*megabyte, false, m.snapshot("s", "a"))
	m.restart()
	if got := unused(); !slices.Equal(got, []string{"node-a:c"}) {
		t.Errorf("unused then: %q, want the copy", got)
	}
}
