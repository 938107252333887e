package bundle

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"

	"github.com/lifepod/lifepod/internal/pidfd"
)

// removeOthers removes the folders of other versions of the runtime that
// nobody uses. It is housekeeping: what it cannot do now, a later start does.
func (p *Paths) removeOthers() {
	entries, err := os.ReadDir(p.bundles())
	if err != nil {
		return
	}
	for _, e := range entries {
		if !e.IsDir() || e.Name() == filepath.Base(p.Bundle) {
			continue
		}
		only, err := tryLock(filepath.Join(p.bundles(), "lock"), unix.LOCK_EX)
		if err != nil {
			return
		}
		removeUnused(filepath.Join(p.bundles(), e.Name()))
		only.Close()
	}
}

// removeUnused removes one folder, unless a process of another version of
// lifepod has it open (it holds the lock of the mark), or one of its programs
// still runs: a shim keeps its containers across versions, and containerd
// calls the shim's program again to clean up after it.
func removeUnused(dir string) {
	mark, err := os.OpenFile(filepath.Join(dir, completeName), os.O_RDWR, 0)
	if err == nil {
		defer mark.Close()
		if relock(mark, unix.LOCK_EX) != nil {
			return
		}
	}
	if len(processesBelow(dir)) > 0 {
		return
	}
	partial := filepath.Join(filepath.Dir(dir), partialPrefix+filepath.Base(dir))
	if os.Rename(dir, partial) == nil {
		_ = os.RemoveAll(partial)
	}
}

// processesBelow lists the processes whose program lies below dir.
func processesBelow(dir string) []int {
	var pids []int
	all, _ := procfs.AllProcs() // none, if there is no /proc
	for _, proc := range all {
		if strings.HasPrefix(pidfd.Program(proc), dir+"/") {
			pids = append(pids, proc.PID)
		}
	}
	return pids
}
