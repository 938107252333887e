package netidentity

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
	"k8s.io/apimachinery/pkg/types"
)

func TestRelease(t *testing.T) {
	dir := t.TempDir()
	record := filepath.Join(dir, "pods", "uid-1")
	other := filepath.Join(dir, "pods", "uid-2")
	if err := os.Mkdir(filepath.Dir(record), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{record, other} {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 { // a second time is no error
		if err := ReleaseAddress(dir, "uid-1"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(record); !os.IsNotExist(err) {
		t.Errorf("the record is still there: %v", err)
	}
	if _, err := os.Stat(other); err != nil {
		t.Errorf("another pod's record: %v", err)
	}
	if err := ReleaseAddress(filepath.Join(dir, "never used"), types.UID("uid-1")); err != nil {
		t.Errorf("a folder that was never used: %v", err)
	}
}

// TestReleaseWaitsForTheStore: nothing is released while the plugin is at work.
func TestReleaseWaitsForTheStore(t *testing.T) {
	dir := t.TempDir()
	record := filepath.Join(dir, "pods", "uid-1")
	if err := os.Mkdir(filepath.Dir(record), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(record, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	lock, err := os.Create(filepath.Join(dir, "lock"))
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	released := make(chan error, 1)
	seen := make(chan error, 1)
	go func() {
		err := ReleaseAddress(dir, "uid-1")
		released <- err
	}()
	go func() { // the plugin's last look before it unlocks
		_, err := os.Stat(record)
		seen <- err
		_ = lock.Close()
	}()
	if err := <-seen; err != nil {
		t.Errorf("the record was gone while the store was locked: %v", err)
	}
	if err := <-released; err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(record); !os.IsNotExist(err) {
		t.Errorf("the record is still there: %v", err)
	}
}
