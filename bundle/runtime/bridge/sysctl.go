package bridge

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
)

// ensureSysctl sets a value of the current network namespace, unless it has it: a
// read costs nothing, and what is right can be read-only.
func ensureSysctl(value string, name ...string) error {
	path := sysctlPath(name)
	if have, err := os.ReadFile(path); err == nil && string(bytes.TrimSpace(have)) == value {
		return nil
	}
	if err := os.WriteFile(path, []byte(value), 0o644); err != nil {
		return fmt.Errorf("set %s to %s: %w", path, value, err)
	}
	return nil
}

func sysctlPath(name []string) string {
	return filepath.Join(append([]string{"/proc/sys/net"}, name...)...)
}

// trySysctl is for what not every kernel has, such as one without IPv6.
func trySysctl(value string, name ...string) { _ = ensureSysctl(value, name...) }
