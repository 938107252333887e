package pods

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/lifepod/lifepod/host"
	"github.com/lifepod/lifepod/internal/rootfolder"
	"github.com/lifepod/lifepod/internal/wholefile"
)

// BootFile has the boot ID of the machine as RecordBoot last recorded it.
const BootFile = "boot-id"

// Rebooted says whether the machine was started anew since the last RecordBoot. Without a
// record it counts as started anew: nobody can tell.
func (m MemoryFolder) Rebooted() (bool, error) {
	if m.Dir == "" {
		return true, nil
	}
	now, err := host.BootID()
	if err != nil {
		return false, err
	}
	before, err := os.ReadFile(filepath.Join(m.Dir, BootFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, fmt.Errorf("read the boot ID of before: %w", err)
	}
	return strings.TrimSpace(string(before)) != now, nil
}

// RecordBoot records that every remembered pod is one of this boot of the machine: the
// next agent goes on with them without waiting for the API (B-RST-21).
func (m MemoryFolder) RecordBoot() error {
	if m.Dir == "" {
		return nil
	}
	now, err := host.BootID()
	if err == nil {
		err = rootfolder.Ensure(m.Dir, 0o700)
	}
	if err == nil {
		err = wholefile.Write(filepath.Join(m.Dir, BootFile), []byte(now+"\n"))
	}
	if err != nil {
		return fmt.Errorf("record the machine's boot ID: %w", err)
	}
	return nil
}
