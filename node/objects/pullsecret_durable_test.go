package objects

import (
	"testing"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/internal/powercut"
)

// Without its intent, an image whose pull a power cut has ended would pass for a
// preloaded one.
func TestIntentSurvivesPowerCut(t *testing.T) {
	disk := powercut.NewDisk(t)
	records := open(t, disk.Dir, policy(t, "NeverVerifyPreloadedImages"))
	disk.Settle()
	assert.Must(t, records.Intend("example.com/secret:1"))
	disk.Cut()
	if intended, err := records.pulling.intended("example.com/secret:1"); !intended || err != nil {
		t.Errorf("after a power cut: intended %v, %v", intended, err)
	}
}
