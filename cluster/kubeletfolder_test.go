package cluster

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/lifepod/lifepod/internal/assert"
)

func TestKubeletFolder(t *testing.T) {
	dir := t.TempDir()
	link, folder := filepath.Join(dir, "kubelet"), filepath.Join(dir, "node")
	for _, when := range []string{"first start", "next start"} {
		got, err := linked(link, folder)
		assert.True(t, err == nil && got == link, "%s: %q, %v, want the link", when, got, err)
	}
	got, err := linked(link, filepath.Join(dir, "other"))
	assert.True(t, err == nil && got == filepath.Join(dir, "other"), "another one's link: %q, %v, want the folder itself", got, err)
	assert.NoError(t, unlink(link, filepath.Join(dir, "other")))
	target, err := os.Readlink(link)
	assert.True(t, err == nil && target == folder, "the link leads to %q, %v, though another one was to be removed", target, err)
	assert.NoError(t, unlink(link, folder))
	err = os.Mkdir(link, 0o750)
	assert.Require(t, err == nil, "the link is still there: %v", err)
	got, err = linked(link, folder)
	assert.True(t, err == nil && got == folder, "a kubelet's own folder: %q, %v, want ours", got, err)
	assert.NoError(t, unlink(link, folder))
	info, err := os.Lstat(link)
	assert.True(t, err == nil && info.IsDir(), "the kubelet's folder: %v, %v", info, err)
}
