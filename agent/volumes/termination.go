package volumes

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
)

// TerminationLog makes the file into which a container writes why it ended, to
// be mounted at its terminationMessagePath (A-VOL-6): empty, writable for
// whatever user the container runs as, and another one for each instance.
func TerminationLog(podDir, container string) (string, error) {
	dir := filepath.Join(podDir, "containers", container)
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return "", fmt.Errorf("create termination message file: %w", err)
	}
	path := filepath.Join(dir, fmt.Sprintf("%08x", rand.Uint32()))
	if err := os.WriteFile(path, nil, 0o666); err != nil {
		return "", fmt.Errorf("create termination message file: %w", err)
	}
	if err := os.Chmod(path, 0o666); err != nil {
		return "", fmt.Errorf("create termination message file: %w", err)
	}
	return path, nil
}
