//go:build unix

package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/lifepod/lifepod/lifecycle"
)

// Sizes of a pod's files in bytes: of its first entries, and of each of the two files with
// the newest.
const (
	firstSize  = 256 << 10
	newestSize = 512 << 10
)

const (
	podFile   = "pod.json"
	nowFile   = "now.json"
	firstFile = "first" + suffix
	suffix    = ".jsonl"
)

// Writer writes the journal of one pod. One goroutine uses it.
type Writer struct {
	dir      string
	lock     *os.File // of podFile; held while a lifepod leads the pod
	pod      []byte   // what is in podFile
	recorder *Recorder
	recent   []Entry // the newest, for the chains of ends

	file  *os.File // that is written to
	size  int64    // of it
	limit int64
	torn  bool // the last write was cut off

	now slots
}

// Create goes on with the pod's journal, or begins it, and keeps it until Close. Another
// process that leads the same pod is an error.
func (f Folder) Create(pod Pod) (*Writer, error) {
	w := &Writer{dir: f.of(pod.UID)}
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

// A reader has the lock for a moment, and whoever removes what is too old.
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
	if err := os.MkdirAll(w.dir, 0o700); err != nil {
		return err
	}
	path := filepath.Join(w.dir, podFile)
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	if err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return errors.Join(err, file.Close())
	}
	locked, err := file.Stat()
	if there, missing := os.Stat(path); err == nil && (missing != nil || !os.SameFile(locked, there)) {
		err = fs.ErrNotExist // it was removed before it was locked
	}
	if err != nil {
		return errors.Join(err, file.Close())
	}
	w.lock = file
	return nil
}

func (w *Writer) open() error {
	entries, torn, err := readEntries(w.dir)
	if err != nil {
		return err
	}
	w.recorder, w.torn = NewRecorder(entries), torn
	w.remember(entries)
	if err := w.now.open(filepath.Join(w.dir, nowFile)); err != nil {
		return err
	}
	return w.append(newestFile(w.dir))
}

// append opens the file that is written to.
func (w *Writer) append(path string) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	info, err := file.Stat()
	if err != nil {
		return errors.Join(err, file.Close())
	}
	if w.file != nil {
		_ = w.file.Close() // nothing is buffered
	}
	w.file, w.size, w.limit = file, info.Size(), newestSize
	if filepath.Base(path) == firstFile {
		w.limit = firstSize
	}
	return nil
}

// Is says which pod it is now; its labels may have changed.
func (w *Writer) Is(pod Pod) error {
	content, err := json.Marshal(pod)
	if err != nil || bytes.Equal(content, w.pod) {
		return err
	}
	if _, err = w.lock.WriteAt(content, 0); err == nil {
		err = w.lock.Truncate(int64(len(content)))
	}
	if err == nil {
		w.pod = content
	}
	return err
}

// Step writes the entries of one step of the machine, before its effects are carried out.
// It returns them. After an error they are lost, and the next ones are written again.
func (w *Writer) Step(at time.Time, fact lifecycle.Fact, effects []lifecycle.Effect) ([]Entry, error) {
	entries := w.recorder.Step(at, fact, effects)
	if len(entries) == 0 {
		return nil, nil
	}
	w.remember(entries)
	var lines bytes.Buffer
	if w.torn {
		lines.WriteByte('\n')
	}
	encoder := json.NewEncoder(&lines)
	encoder.SetEscapeHTML(false)
	for i := range entries {
		if err := encoder.Encode(&entries[i]); err != nil {
			return entries, fmt.Errorf("journal: %w", err)
		}
	}
	if err := w.write(lines.Bytes(), entries[0].ID); err != nil {
		return entries, fmt.Errorf("journal: %w", err)
	}
	return entries, nil
}

// write appends to the newest file, or begins another one.
func (w *Writer) write(lines []byte, id int64) error {
	if w.size > 0 && w.size+int64(len(lines)) > w.limit {
		if err := w.rotate(id); err != nil {
			return err
		}
	}
	n, err := w.file.Write(lines)
	w.size += int64(n)
	w.torn = n > 0 && n < len(lines) || n == 0 && w.torn
	return err
}

// rotate begins a file, named by its first entry, and removes all but the two newest.
func (w *Writer) rotate(id int64) error {
	if err := w.append(filepath.Join(w.dir, strconv.FormatInt(id, 10)+suffix)); err != nil {
		return err
	}
	newest := newestFiles(w.dir)
	var err error
	for len(newest) > 2 {
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
	if err != nil || bytes.Equal(content, w.now.last) {
		return err
	}
	last := content
	now.At = at
	if content, err = json.Marshal(now); err == nil {
		err = w.now.write(content)
	}
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	w.now.last = last
	return nil
}

// Dir is the pod's folder in the journal.
func (w *Writer) Dir() string { return w.dir }

// Close ends the writing; the pod has no lifepod then, as far as readers know.
func (w *Writer) Close() error {
	var err error
	for _, file := range []*os.File{w.file, w.now.file, w.lock} {
		if file != nil {
			err = errors.Join(err, file.Close())
		}
	}
	return err
}
