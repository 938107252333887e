package criconfig

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lifepod/lifepod/internal/assert"
)

// A folder of logs that can't exist is gone, or its pod would never be (A-ADM-9).
func TestRemovePodLogs(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	assert.Must(t, os.WriteFile(file, nil, 0o600))
	for _, tc := range []struct{ name, root, pod string }{
		{"the name is too long", dir, strings.Repeat("p", 253)}, {"no folder", file, "p"}, {"nothing there", dir, "p"},
	} {
		pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: tc.pod, UID: "u"}}
		assert.NoError(t, (Node{LogRoot: tc.root}).RemovePodLogs(pod), tc.name)
	}
}
