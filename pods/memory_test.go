package pods

import (
	"os"
	"path/filepath"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/internal/powercut"
	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/roster"
)

// What is kept of a pod outlives the machine once its checkpoint is synced: one of
// the two without the other is of no use.
func TestKeptSurvivesPowerCut(t *testing.T) {
	disk := powercut.NewDisk(t)
	m := MemoryFolder{Dir: filepath.Join(disk.Dir, "memory")}
	assert.Must(t, os.Mkdir(m.Dir, 0o700))
	disk.Settle()
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a", UID: "uid-a"}}
	file := m.Pod(roster.Remembered{Source: roster.API, Pod: pod})
	assert.Must(t, file.Keep())
	disk.Cut() // between the pod's acceptance and its first step
	assert.NoError(t, assert.ErrorOf(os.Stat(m.path(pod.UID, podSuffix))))
	assert.Must(t, file.Save(lifecycle.Checkpoint{}))
	assert.Must(t, file.Sync())
	disk.Cut()
	kept, err := m.Load(pod.UID)
	assert.True(t, err == nil && kept.Pod.Name == "a", "after a power cut: %v, %v", kept, err)
}

// What an agent that was killed was just writing does not stay.
func TestUnfinishedIsRemoved(t *testing.T) {
	m := MemoryFolder{Dir: t.TempDir()}
	assert.Must(t, os.WriteFile(filepath.Join(m.Dir, ".new-123"), []byte("{"), 0o600))
	list, useless, err := m.All()
	assert.True(t, len(list) == 0 && len(useless) == 0 && err == nil, "kept: %v, %v, %v", list, useless, err)
	entries, err := os.ReadDir(m.Dir)
	assert.True(t, len(entries) == 0 && err == nil, "left: %v, %v", entries, err)
}
