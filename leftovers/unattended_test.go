package leftovers

import (
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/lifepod/lifepod/internal/assert"
)

// What unattended pods use is no leftover; folders of others are.
func TestWithout(t *testing.T) {
	found := []Leftover{
		{Kind: Process, Name: "7"}, {Kind: Cgroup, Name: "/lifepod"}, {Kind: Mount, Name: "/r/pods/u1/volumes/v"}, {Kind: Bridge, Name: "lp0"},
		{Kind: PodFolder, Name: "/r/pods/u1"}, {Kind: PodFolder, Name: "/r/pods/u2"}, {Kind: LogFolder, Name: "/r/logs/default_web_u1"},
		{Kind: PodRecord, Name: "/r/runs/u1.json"}, {Kind: PodRecord, Name: "/r/runs/u2.json"}, {Kind: RunFolder, Name: "/run/lifepod"},
	}
	want := []Leftover{{Kind: PodFolder, Name: "/r/pods/u2"}, {Kind: PodRecord, Name: "/r/runs/u2.json"}}
	assert.Deep(t, "", want, Without(found, []string{"u1"}, true), cmpopts.IgnoreUnexported(Leftover{}))
	if got := Without(found, []string{"u1"}, false); len(got) != 6 {
		t.Errorf("while none of them runs: %v", got)
	}
	if got := Without(found, nil, false); len(got) != len(found) {
		t.Errorf("without unattended pods: %v", got)
	}
}
