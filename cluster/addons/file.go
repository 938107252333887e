package addons

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/lifepod/lifepod/internal/pathwatch"
)

// How long a file may be on its way before its state is taken for what is meant.
const (
	settledAfter = 100 * time.Millisecond // the next look at a file that is being written
	writingUntil = 5 * time.Second        // a writer that has it open for longer has forgotten to close it
	goneAfter    = time.Second            // an editor that replaces a file may remove it first
)

// What could not be applied is tried again after retryFirst, then ever less often
// until retryMost.
const (
	retryFirst = 500 * time.Millisecond
	retryMost  = time.Minute
)

// maxBytes is the most that a file may have.
const maxBytes = 10 << 20

type file struct {
	path    string
	content [sha256.Size]byte
	objects []*unstructured.Unstructured
	err     error // of reading it

	writing, gone time.Time // since when
	done          bool      // the cluster is in step, or will not be before the file changes
	due           time.Time // of the next try
	pause         time.Duration
	reported      string // what was reported last
}

// read takes the file's content, if it has changed and nobody is writing it. It says
// how soon it is to be read again, 0 if only after a change.
func (f *file) read(now time.Time) time.Duration {
	data, writing, err := readFile(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return settledAfter // gone since it was listed
	}
	if !writing {
		f.writing = time.Time{}
	} else if f.writing.IsZero() {
		f.writing = now
	}
	if writing && now.Sub(f.writing) < writingUntil {
		return settledAfter
	}
	sum := sha256.Sum256(data)
	if err == nil && f.err == nil && sum == f.content {
		return 0
	}
	var objects []*unstructured.Unstructured
	if err == nil {
		objects, err = decode(data)
	}
	if f.content == sum && f.err != nil && err != nil && f.err.Error() == err.Error() {
		return 0
	}
	*f = file{path: f.path, content: sum, objects: objects, err: err, reported: f.reported}
	return 0
}

func readFile(path string) (data []byte, writing bool, err error) {
	opened, err := pathwatch.Open(path)
	if err != nil {
		return nil, false, err
	}
	defer func() { _ = opened.Close() }()                   // only read
	if written, _ := pathwatch.IsWritten(opened); written { // without an answer it isn't
		return nil, true, nil
	}
	data, err = io.ReadAll(io.LimitReader(opened, maxBytes+1))
	if err == nil && len(data) > maxBytes {
		err = fmt.Errorf("it is larger than %d MiB", maxBytes>>20)
	}
	return data, false, err
}

// failed has the file tried again later.
func (f *file) failed(now time.Time) {
	f.pause = max(retryFirst, min(2*f.pause, retryMost))
	f.due = now.Add(f.pause)
}

// suffixes are those of manifests.
var suffixes = []string{".yaml", ".yml", ".json"}

// list names the manifests of a folder. It skips hidden files and folders.
func list(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("folder of add-ons: %w", err)
	}
	var paths []string
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if strings.HasPrefix(e.Name(), ".") || !slices.Contains(suffixes, filepath.Ext(e.Name())) {
			continue
		}
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() { // links are followed
			paths = append(paths, path)
		}
	}
	return paths, nil
}
