package source

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/lifepod/lifepod/internal/pathwatch"
	"github.com/lifepod/lifepod/manifest"
)

// maxManifestBytes is the kubelet's limit for a manifest (B-STA-1).
const maxManifestBytes = 10 << 20

// version tells two states of a file apart without reading it.
type version struct {
	device, inode uint64
	size          int64
	changed       unix.Timespec
}

func versionOf(f *os.File) (version, error) {
	var stat unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &stat); err != nil {
		return version{}, fmt.Errorf("stat %s: %w", f.Name(), err)
	}
	return version{device: stat.Dev, inode: stat.Ino, size: stat.Size, changed: stat.Ctim}, nil
}

// read brings the file up to date. It says how soon it is to be read again, 0 if only after a change.
func (f *file) read(now time.Time, o manifest.StaticOptions) time.Duration {
	opened, err := pathwatch.Open(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return settledAfter // gone since it was listed
	}
	if err != nil {
		return f.fail(fmt.Errorf("read static pods: %w", err))
	}
	defer func() { _ = opened.Close() }() // only read
	before, err := versionOf(opened)
	if err != nil {
		return f.fail(err)
	}
	if before == f.version {
		return 0
	}
	data, err := io.ReadAll(io.LimitReader(opened, maxManifestBytes+1))
	if err != nil {
		return f.fail(fmt.Errorf("read static pods: %w", err))
	}
	after, err := versionOf(opened)
	if err != nil {
		return f.fail(err)
	}
	if again := f.beingWritten(now, opened, before != after); again {
		return settledAfter
	}
	f.unread, f.writing = false, time.Time{}
	f.take(data, o)
	if age := now.Sub(time.Unix(after.changed.Unix())); age >= 0 && age < settledAfter {
		f.version = version{} // another change may have the same time
		return settledAfter
	}
	f.version = after
	return 0
}

func (f *file) fail(err error) time.Duration {
	f.err, f.version, f.unread = err, version{}, false
	return 0
}

// beingWritten says whether somebody has the file open to write it, or has just changed it.
func (f *file) beingWritten(now time.Time, opened *os.File, changed bool) bool {
	if written, _ := pathwatch.IsWritten(opened); !changed && !written { // without an answer it isn't
		return false
	}
	if f.writing.IsZero() {
		f.writing = now
	}
	if now.Sub(f.writing) >= writingUntil {
		return false
	}
	f.unread = f.set == nil && f.err == nil
	return true
}

// take makes pods of the file's content, if it is another than last time.
func (f *file) take(data []byte, o manifest.StaticOptions) {
	sum := sha256.Sum256(data)
	if sum == f.content && f.set != nil && f.err == nil {
		return
	}
	f.content = sum
	if len(data) > maxManifestBytes {
		f.err = fmt.Errorf("%s: it is larger than %d MiB", f.path, maxManifestBytes>>20)
		return
	}
	set, err := manifest.ReadStatic(manifest.Source{Name: f.path, Data: data}, o)
	if f.err = err; err == nil {
		f.set = set
	}
}
