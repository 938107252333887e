//go:build linux

package journal

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/lifepod/lifepod/internal/rootfolder"
)

// LogBytes is how much of the end of a log is kept with an end.
const LogBytes = 64 << 10

// lastEnds is how many ends of a container are kept beside the first.
const lastEnds = 5

const (
	endsFolder = "ends"
	endSuffix  = ".json"
	logSuffix  = ".log"
)

// chainEntries is how many of the newest entries an end's chain can reach back to.
const chainEntries = 128

// End is how an instance ended, of whose exit the entry is: with what led to it, and what was
// decided.
func (w *Writer) End(exit Entry) End {
	by := make(map[int64]Entry, len(w.recent))
	for _, e := range w.recent {
		by[e.ID] = e
	}
	end := End{Container: exit.Container, Attempt: exit.Attempt, Exit: *exit.Exit, Entry: exit.ID}
	for e, found := exit, true; found; e, found = by[e.Cause] {
		end.Chain = append(end.Chain, e)
	}
	slices.Reverse(end.Chain)
	for _, e := range w.recent {
		if e.Kind == Decided && e.Cause == exit.ID && e.Container == exit.Container {
			end.Chain = append(end.Chain, e)
		}
	}
	return end
}

// Unkept are the newest ends of containers that a lifepod before knew and did not come to keep:
// it was killed meanwhile.
func (w *Writer) Unkept() (ends []End) {
	newest := map[string]Entry{}
	for _, e := range w.recent {
		if e.Exit != nil && e.Container != "" {
			newest[e.Container] = e
		}
	}
	for _, e := range newest {
		path := filepath.Join(w.dir, endsFolder, filepath.Base(e.Container), strconv.FormatUint(uint64(e.Attempt), 10)+endSuffix)
		if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
			ends = append(ends, w.End(e))
		}
	}
	return ends
}

// remember keeps the newest entries for the chains of ends.
func (w *Writer) remember(entries []Entry) {
	w.recent = append(w.recent, entries...)
	if over := len(w.recent) - chainEntries; over > 0 {
		w.recent = slices.Clone(w.recent[over:])
	}
}

// KeepEnd writes how an instance of a container ended, and the end of its log, to the pod's
// folder in the journal (Writer.Dir). Of each container the first end stays, and the last
// five. It may be called beside the writer, for one end of a container at a time.
func KeepEnd(dir string, end End, log []byte) error {
	folder := filepath.Join(dir, endsFolder, filepath.Base(end.Container))
	content, err := json.Marshal(end)
	if err == nil {
		err = rootfolder.Ensure(folder, 0o700)
	}
	if err == nil {
		name := filepath.Join(folder, strconv.FormatUint(uint64(end.Attempt), 10))
		// An end without its log is better than none.
		err = errors.Join(replace(name+logSuffix, log[max(0, len(log)-LogBytes):]), replace(name+endSuffix, content))
	}
	if err == nil {
		err = forgetEnds(folder)
	}
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	return nil
}

// replace writes a file that a kill -9 leaves whole or not at all.
func replace(path string, content []byte) error {
	next := path + ".new"
	err := os.WriteFile(next, content, 0o600)
	if err == nil {
		err = os.Rename(next, path)
	}
	if err != nil {
		_ = os.Remove(next)
	}
	return err
}

// forgetEnds removes those between the first and the last ones.
func forgetEnds(folder string) error {
	all, err := attempts(folder)
	for i, attempt := range all {
		if i == 0 || i >= len(all)-lastEnds {
			continue
		}
		for _, suffix := range []string{endSuffix, logSuffix} {
			gone := os.Remove(filepath.Join(folder, strconv.FormatUint(attempt, 10)+suffix))
			if !errors.Is(gone, fs.ErrNotExist) {
				err = errors.Join(err, gone)
			}
		}
	}
	return err
}

// attempts are the numbers of the instances whose ends a folder has, oldest first.
func attempts(folder string) (all []uint64, err error) {
	found, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, e := range found {
		if name, is := strings.CutSuffix(e.Name(), endSuffix); is {
			if n, err := strconv.ParseUint(name, 10, 32); err == nil {
				all = append(all, n)
			}
		}
	}
	slices.Sort(all)
	return all, nil
}

// readEnds reads the ends that are kept of a pod, by container in the order of the alphabet,
// oldest first. One that can't be read is passed over.
func readEnds(dir string) ([]End, error) {
	containers, err := os.ReadDir(filepath.Join(dir, endsFolder))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var ends []End
	for _, c := range containers {
		folder := filepath.Join(dir, endsFolder, c.Name())
		all, err := attempts(folder)
		if err != nil {
			return nil, err
		}
		for _, attempt := range all {
			content, err := os.ReadFile(filepath.Join(folder, strconv.FormatUint(attempt, 10)+endSuffix))
			var end End
			if err == nil && json.Unmarshal(content, &end) == nil {
				ends = append(ends, end)
			}
		}
	}
	return ends, nil
}

// Log returns the end of the log that is kept of an instance. If none is,
// errors.Is(err, fs.ErrNotExist) holds.
func (f Folder) Log(uid, container string, attempt uint32) ([]byte, error) {
	log, err := os.ReadFile(filepath.Join(f.of(uid), endsFolder, filepath.Base(container), strconv.FormatUint(uint64(attempt), 10)+logSuffix))
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	return log, nil
}
