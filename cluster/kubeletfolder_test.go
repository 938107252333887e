package cluster

import (
	"os"
	"path/filepath"
	"testing"
)

func TestKubeletFolder(t *testing.T) {
	dir := t.TempDir()
	link, folder := filepath.Join(dir, "kubelet"), filepath.Join(dir, "node")
	for _, when := range []string{"first start", "next start"} {
		if got, err := linked(link, folder); err != nil || got != link {
			t.Errorf("%s: %q, %v, want the link", when, got, err)
		}
	}
	if got, err := linked(link, filepath.Join(dir, "other")); err != nil || got != filepath.Join(dir, "other") {
		t.Errorf("another one's link: %q, %v, want the folder itself", got, err)
	}
	if err := unlink(link, filepath.Join(dir, "other")); err != nil {
		t.Error(err)
	}
	if target, err := os.Readlink(link); err != nil || target != folder {
		t.Errorf("the link leads to %q, %v, though another one was to be removed", target, err)
	}
	if err := unlink(link, folder); err != nil {
		t.Error(err)
	}
	if err := os.Mkdir(link, 0o750); err != nil {
		t.Fatalf("the link is still there: %v", err)
	}
	if got, err := linked(link, folder); err != nil || got != folder {
		t.Errorf("a kubelet's own folder: %q, %v, want ours", got, err)
	}
	if err := unlink(link, folder); err != nil {
		t.Error(err)
	}
	if info, err := os.Lstat(link); err != nil || !info.IsDir() {
		t.Errorf("the kubelet's folder: %v, %v", info, err)
	}
}
