package podlog

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/lifepod/lifepod/internal/pathwatch"
)

// compressOlder compresses what there is to compress, until nothing is left: a
// fast writer rotates on meanwhile.
func compressOlder(ctx context.Context, log string) error {
	for {
		files, err := uncompressed(log)
		if err != nil || len(files) == 0 {
			return err
		}
		for _, path := range files {
			if err := compress(ctx, path); err != nil {
				return fmt.Errorf("compress log: %w", err)
			}
		}
	}
}

// compress puts a compressed file in place of a plain one. At every moment
// one of them is complete. A file that was removed meanwhile stays removed.
func compress(ctx context.Context, path string) error {
	in, err := OpenFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }() // only read
	if err := awaitWritten(ctx, in); err != nil {
		return err
	}
	unfinished := path + Compressed + Unfinished // a name that readers know, so not by wholefile
	defer func() { _ = os.Remove(unfinished) }() // gone if all went well
	if err := writeCompressed(ctx, in, unfinished); err != nil {
		return err
	}
	if _, err := os.Lstat(path); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err := os.Rename(unfinished, path+Compressed); err != nil {
		return err
	}
	return os.Remove(path)
}

// Times for the runtime to write the rest of a file that was rotated away, which
// it does after the next one is there.
const (
	rotatedWriterTimeout = 10 * time.Second
	rotatedWriterPeriod  = 20 * time.Millisecond
)

// awaitWritten returns when nobody writes to a file any more: what would come
// after its end was read would be lost.
func awaitWritten(ctx context.Context, file *os.File) error {
	ctx, cancel := context.WithTimeoutCause(ctx, rotatedWriterTimeout, fmt.Errorf("%s is still being written", file.Name()))
	defer cancel()
	for {
		if written, err := pathwatch.IsWritten(file); !written || err != nil {
			return nil // without an answer it is taken for written
		}
		select {
		case <-time.After(rotatedWriterPeriod):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func writeCompressed(ctx context.Context, in *os.File, path string) (err error) {
	info, err := in.Stat()
	if err != nil {
		return err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) { // of a compression that was cut off
		return err
	}
	out, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY|unix.O_NOFOLLOW, info.Mode().Perm())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	packed, err := gzip.NewWriterLevel(out, gzip.BestSpeed) // the containers need the processor, too
	if err != nil {
		return err
	}
	if _, err := io.Copy(packed, cancellable{ctx, in}); err != nil {
		return err
	}
	if err := packed.Close(); err != nil {
		return err
	}
	return out.Sync() // before the plain file goes
}

// cancellable ends a copy when the pod goes.
type cancellable struct {
	ctx context.Context
	io.Reader
}

// Read implements io.Reader.
func (c cancellable) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.Reader.Read(p)
}

// removeUnfinished removes what a crash left of a compression.
func removeUnfinished(log string) error {
	entries, err := os.ReadDir(filepath.Dir(log))
	for _, entry := range entries {
		path := filepath.Join(filepath.Dir(log), entry.Name())
		if strings.HasSuffix(path, Unfinished) && Stamp(log, path) != "" {
			err = errors.Join(err, os.Remove(path))
		}
	}
	return err
}
