package netidentity

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
	"k8s.io/apimachinery/pkg/types"
)

// ReleaseAddress gives back what the pod has. The plugin's store (bundle/runtime/ipam)
// documents the way: under its lock, the removal of the pod's record is the
// whole release. A pod without an address, or a folder that was never used, is
// no error.
func ReleaseAddress(ipamDir string, uid types.UID) error {
	record := filepath.Join(ipamDir, "pods", string(uid))
	if _, err := os.Lstat(record); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	lock, err := os.OpenFile(filepath.Join(ipamDir, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("release the address of pod %s: %w", uid, err)
	}
	defer func() { _ = lock.Close() }() // which unlocks
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil {
		return fmt.Errorf("release the address of pod %s: lock: %w", uid, err)
	}
	if err := os.Remove(record); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("release the address of pod %s: %w", uid, err)
	}
	return nil
}
