package volumes

import (
	"os"
	"path/filepath"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/internal/powercut"
)

// What a claim is bound to is known after a power cut, too, and is written once: a
// container's restart costs no write.
func TestRememberedVolumeSurvivesPowerCut(t *testing.T) {
	disk := powercut.NewDisk(t)
	path := filepath.Join(disk.Dir, "claims", "data.json")
	volume := &v1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv"}}
	disk.Settle()
	assert.Must(t, remember(path, volume))
	disk.Cut()
	written, err := os.Stat(path)
	if err != nil || written.Size() == 0 {
		t.Fatalf("after a power cut: %v, %v", written, err)
	}
	assert.Must(t, remember(path, volume))
	again, err := os.Stat(path)
	if err != nil || !os.SameFile(written, again) {
		t.Errorf("the same volume was written again: %v, %v", again, err)
	}
}
