//go:build linux

package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/lifepod/lifepod/internal/rootfolder"
	"github.com/lifepod/lifepod/internal/wholefile"
	"github.com/lifepod/lifepod/lifecycle"
)

// Sizes of a pod's files in bytes: of its first entries, and of each of the two files with
// the newest.
const (
	firstSize  = 256 << 10
	newestSize = 512 << 10
	// unwrittenSize is how much waits for room on the disk; what is more is lost.
	unwrittenSize = 64 << 10
)

const (
	podFile   = "pod.json"
	nowFile   = "now.json"
	firstFile = "first" + suffix
	suffix    = ".jsonl"
)

// Writers are those of one process, which have one file open for all of their pods.
type Writers struct {
	Folder
	locks *locks
}

// Writers prepares to write to the journal. Keep them as long as there may be pods; without pods they hold no resources.
func (f Folder) Writers() *Writers { return &Writers{Folder: f, locks: f.newLocks()} }

// Writer writes the journal of one pod. One goroutine uses it.
type Writer struct {
	dir      string
	locks    *locks
	locked   bool   // the pod is: so it is while a lifepod leads it
	pod      []byte // what is in podFile
	recorder *Recorder
	recent   []Entry // the newest, for the chains of ends

	file  string // that is written to: it is open for each write only
	size  int64  // of it
	limit int64
	torn  bool // the last write was cut off
	// unwritten are whole lines that the disk had no room for, of the entries from that ID on; they go before the next ones.
	unwritten   []byte
	unwrittenID int64

	now     uint64 // the sequence of what nowFile has
	lastNow []byte // what was written there last, but for its time
}

// Create goes on with the pod's journal, or begins it, and keeps it until Close. If another
// leads the same pod, errors.Is(err, unix.EWOULDBLOCK) holds.
func (all *Writers) Create(pod Pod) (*Writer, error) {
	w := &Writer{dir: all.of(pod.UID), locks: all.locks}
	err := w.take()
	if err == nil {
		err = w.open()
	}
	if err == nil {
		err = w.Is(pod)
	}
	if err != nil {
		return nil, fmt.Errorf("journal: %w", errors.Join(err, w.Close()))
	}
	return w, nil
}

// Whoever removes what is too old has the lock for a moment.
const (
	lockTries = 20
	lockPause = 5 * time.Millisecond
)

// take makes the pod's folder and locks it.
func (w *Writer) take() (err error) {
	for range lockTries {
		if err = w.tryLock(); err == nil {
			return nil
		}
		time.Sleep(lockPause)
	}
	return fmt.Errorf("another lifepod writes to %s: %w", w.dir, err)
}

func (w *Writer) tryLock() error {
	if err := rootfolder.Ensure(w.dir, 0o700); err != nil {
		return err
	}
	if err := w.locks.take(w.dir); err != nil {
		return err
	}
	w.locked = true
	if _, err := os.Stat(w.dir); err != nil { // it was removed before it was locked
		return errors.Join(err, w.Close())
	}
	return nil
}

func (w *Writer) open() error {
	entries, torn, err := readEntries(w.dir)
	if err != nil {
		return err
	}
	w.recorder, w.torn = NewRecorder(entries), torn
	w.remember(entries)
	if now, err := readNow(filepath.Join(w.dir, nowFile)); err == nil {
		w.now = now.Sequence
	}
	return w.goOn(newestFile(w.dir))
}

// goOn has a file be the one that is written to, which need not be there.
func (w *Writer) goOn(path string) error {
	info, err := os.Stat(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	w.file, w.size, w.limit = path, 0, newestSize
	if err == nil {
		w.size = info.Size()
	}
	if filepath.Base(path) == firstFile {
		w.limit = firstSize
	}
	return nil
}

// append appends to the file that is written to.
func (w *Writer) append(lines []byte) (n int, err error) {
	file, err := os.OpenFile(w.file, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return 0, err
	}
	n, err = file.Write(lines)
	return n, errors.Join(err, file.Close())
}

// Is says which pod it is now; its labels may have changed.
func (w *Writer) Is(pod Pod) error {
	content, err := json.Marshal(pod)
	if err != nil || bytes.Equal(content, w.pod) {
		return err
	}
	file, err := os.OpenFile(filepath.Join(w.dir, podFile), os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	if _, err = file.WriteAt(content, 0); err == nil {
		err = file.Truncate(int64(len(content)))
	}
	if err = errors.Join(err, file.Close()); err == nil {
		w.pod = content
	}
	return err
}

// Step writes the entries of one step of the machine, before its effects are carried out.
// It returns them. After an error they are tried again with the next ones, as far as unwrittenSize goes.
func (w *Writer) Step(at time.Time, fact lifecycle.Fact, effects []lifecycle.Effect) ([]Entry, error) {
	entries := w.recorder.Step(at, fact, effects)
	if len(entries) == 0 {
		return nil, nil
	}
	w.remember(entries)
	lines, id := bytes.NewBuffer(w.unwritten), entries[0].ID
	if len(w.unwritten) > 0 {
		id = w.unwrittenID
	}
	encoder := json.NewEncoder(lines)
	encoder.SetEscapeHTML(false)
	for i := range entries {
		if err := encoder.Encode(&entries[i]); err != nil {
			return entries, fmt.Errorf("journal: %w", err)
		}
	}
	if err := w.write(lines.Bytes(), id); err != nil {
		return entries, fmt.Errorf("journal: %w", err)
	}
	return entries, nil
}

// write appends to the newest file, or begins another one. What of the lines, whose first is that of an ID, is not written waits.
func (w *Writer) write(lines []byte, id int64) error {
	if w.size > 0 && w.size+int64(len(lines)) > w.limit {
		if err := w.rotate(id); err != nil {
			return err
		}
	}
	if w.torn {
		if n, err := w.append([]byte{'\n'}); n == 0 {
			w.wait(lines, id)
			return err
		}
		w.size, w.torn = w.size+1, false
	}
	n, err := w.append(lines)
	w.size += int64(n)
	whole := bytes.LastIndexByte(lines[:n], '\n') + 1
	w.torn = n > whole
	w.wait(lines[whole:], id+int64(bytes.Count(lines[:whole], []byte{'\n'})))
	return err
}

// wait has lines wait for the next write, unless there are too many.
func (w *Writer) wait(lines []byte, id int64) {
	w.unwritten, w.unwrittenID = nil, id
	if len(lines) <= unwrittenSize {
		w.unwritten = slices.Clone(lines)
	}
}

// rotate begins a file, named by its first entry, and removes all but the two newest.
func (w *Writer) rotate(id int64) error {
	err := w.goOn(filepath.Join(w.dir, strconv.FormatInt(id, 10)+suffix))
	newest := newestFiles(w.dir)
	for len(newest) > 1 { // and the one that is begun
		err = errors.Join(err, os.Remove(newest[0]))
		newest = newest[1:]
	}
	return err
}

// Now writes how the pod is, if that differs from before.
func (w *Writer) Now(now Now) error {
	at := now.At
	now.At = time.Time{}
	content, err := json.Marshal(now)
	if err != nil || bytes.Equal(content, w.lastNow) {
		return err
	}
	last := content
	now.At = at
	if content, err = json.Marshal(now); err == nil {
		err = nowSlots.Write(filepath.Join(w.dir, nowFile), wholefile.Entry{Sequence: w.now + 1, Content: content})
	}
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	w.now, w.lastNow = w.now+1, last
	return nil
}

// Dir is the pod's folder in the journal.
func (w *Writer) Dir() string { return w.dir }

// Close ends the writing; the pod has no lifepod then, as far as readers know.
func (w *Writer) Close() error {
	if !w.locked {
		return nil
	}
	w.locked = false
	var err error
	if len(w.unwritten) > 0 {
		err = w.write(w.unwritten, w.unwrittenID)
	}
	return errors.Join(err, w.locks.release(w.dir))
}
