package node

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/pods"
	"github.com/lifepod/lifepod/roster"
	"github.com/lifepod/lifepod/unattended"
)

// The pods of an agent that was stopped are known as its, until it runs again.
func TestLeft(t *testing.T) {
	root := t.TempDir()
	m := pods.MemoryFolder{Dir: filepath.Join(root, "lifepod")}
	at := place{Command: unattended.Agent, Memory: m.Dir, LogRoot: "/var/log/pods", Endpoint: "unix:///run/other.sock"}
	assert.Must(t, at.save(root))
	release := assert.Get(m.Lock()).Must(t)
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web-n1", UID: "1"}, Spec: v1.PodSpec{Containers: []v1.Container{{Name: "main"}}}}
	file := m.Pod(roster.Remembered{Source: roster.File, Pod: pod})
	assert.Must(t, file.Keep())
	c := lifecycle.New(pod, lifecycle.DefaultOptions()).Checkpoint()
	c.Reported.Phase = v1.PodRunning
	assert.Must(t, file.Save(c))
	if left := Left(root); left != nil || !Running(root) {
		t.Errorf("while the agent runs: %v, running %v", left, Running(root))
	}
	release()
	assert.True(t, !Running(root), "the agent does not run any more")
	left := Left(root)
	assert.Require(t, len(left) == 1, "%d pods, want 1", len(left))
	p := left[0]
	got := []string{p.FullName(), p.Command, p.LogDir, string(p.Status.Phase), p.Status.Reason}
	assert.Deep(t, "", []string{"default/web-n1", "lifepod agent", "/var/log/pods/default_web-n1_1", "Running", "Unattended"}, got)
	text := p.Status.Message
	assert.True(t, strings.HasPrefix(text, "its lifepod agent does not run: start lifepod agent again to resume it"), "%v", text)
	staged := filepath.Join(root, "plugins/kubernetes.io/csi/d/hash/vol_data.json") // of a volume whose mounts were taken away
	err := os.MkdirAll(filepath.Dir(staged), 0o700)
	if err == nil {
		err = os.WriteFile(staged, []byte(`{"driverName":"d","volumeHandle":"h","lifepod.dev/done-in-boot":"b"}`), 0o600)
	}
	assert.Must(t, err)
	assert.Must(t, Forget(t.Context(), root, at.Endpoint))
	if record, err := os.ReadFile(staged); err != nil || string(record) != `{"driverName":"d","volumeHandle":"h"}` {
		t.Errorf("the next agent has to ask the driver again (A-CSI-12), and finds the record %s, error %v", record, err)
	}
	left = Left(root)
	assert.True(t, left == nil, "after all were ended: %v", left)
	entries, _ := os.ReadDir(m.Dir)
	assert.True(t, len(entries) == 1 && entries[0].Name() == pods.LockFile, "left in the memory: %v", entries)
}
