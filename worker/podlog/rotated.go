package podlog

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// StampLayout is the time in the name of a rotated file: <log>.<stamp>, with
// Compressed behind it once it is (B-LOG-1). Names sort as the files were written.
const StampLayout = "20060102-150405"

// Suffixes of rotated files.
const (
	Compressed = ".gz"  // a complete compressed file
	Unfinished = ".tmp" // what is being compressed, or what a crash left of it
)

// Rotated are the files that a log was renamed to, oldest first. Of a file that
// is there compressed as well, the plain one is named. A log whose folder is
// gone has none.
func Rotated(log string) ([]string, error) {
	entries, err := os.ReadDir(filepath.Dir(log))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("rotated files of a log: %w", err)
	}
	var found []string
	for _, entry := range entries { // sorted: X comes before X.gz
		path := filepath.Join(filepath.Dir(log), entry.Name())
		if Stamp(log, path) == "" || strings.HasSuffix(path, Unfinished) {
			continue
		}
		if n := len(found); n > 0 && Stamp(log, found[n-1]) == Stamp(log, path) {
			continue
		}
		found = append(found, path)
	}
	return found, nil
}

// Stamp is the time in the name of one of a log's rotated files, compressed or
// being compressed or not; empty if it is none.
func Stamp(log, path string) string {
	stamp, found := strings.CutPrefix(path, log+".")
	stamp = strings.TrimSuffix(strings.TrimSuffix(stamp, Unfinished), Compressed)
	if _, err := time.Parse(StampLayout, stamp); !found || err != nil {
		return ""
	}
	return stamp
}

// RemoveAll removes a log and all that was rotated away from it; what is not
// there is no error.
func RemoveAll(log string) error {
	files, err := filepath.Glob(escape(log) + ".*")
	errs := []error{err}
	for _, path := range append(files, log, begunPath(log)) {
		if strings.HasPrefix(path, log+".") && Stamp(log, path) == "" {
			continue
		}
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// escape makes a path a pattern that matches itself only.
func escape(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// Tail is the end of what an instance wrote, at most n bytes: also from before
// the log was rotated.
func Tail(log string, n int64) (string, error) {
	older, err := Rotated(log)
	if err != nil {
		return "", err
	}
	var text string
	for _, path := range slices.Backward(append(older, log)) {
		part, err := FileTail(path, n-int64(len(text)))
		if err != nil && !errors.Is(err, os.ErrNotExist) { // being reopened, or rotated away just now
			return text, err
		}
		text = part + text
		if int64(len(text)) >= n {
			break
		}
	}
	return text, nil
}

// FileTail is the end of one file, at most n bytes.
func FileTail(path string, n int64) (string, error) {
	f, err := OpenFile(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }() // only read
	if strings.HasSuffix(path, Compressed) {
		return tailOfCompressed(f, n)
	}
	if size, err := f.Seek(0, io.SeekEnd); err == nil {
		_, _ = f.Seek(max(0, size-n), io.SeekStart)
	}
	data, err := io.ReadAll(io.LimitReader(f, n))
	return string(data), err
}

func tailOfCompressed(f io.Reader, n int64) (string, error) {
	unpacked, err := gzip.NewReader(f)
	if err != nil {
		return "", err
	}
	var kept []byte
	part := make([]byte, 32<<10)
	for {
		m, err := unpacked.Read(part)
		kept = append(kept, part[:m]...)
		kept = kept[max(0, int64(len(kept))-n):]
		if errors.Is(err, io.EOF) {
			return string(kept), nil
		}
		if err != nil {
			return "", err
		}
	}
}
