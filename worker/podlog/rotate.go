package podlog

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// RotationPolicy is the kubelet's containerLogMaxSize and containerLogMaxFiles.
type RotationPolicy struct {
	MaxBytes int64 // of one file
	MaxFiles int   // of one instance, the one that is written included; at least 2
}

// DefaultRotation is the kubelet's: 10Mi × 5.
func DefaultRotation() RotationPolicy { return RotationPolicy{MaxBytes: 10 << 20, MaxFiles: 5} }

// RotatedLog is one instance's log.
type RotatedLog struct {
	ContainerID string
	Path        string
}

// Reopen has the runtime open a running container's log anew (CRI ReopenContainerLog).
type Reopen func(ctx context.Context, containerID string) error

// rotate renames a log and has it opened anew. If that fails it gets its name
// back: the container writes on in the file that it has open. A crash in
// between loses nothing either, the missing file is noticed.
func rotate(ctx context.Context, l RotatedLog, p RotationPolicy, reopen Reopen) error {
	name, err := nextName(l.Path, time.Now())
	if err != nil {
		return err
	}
	if err := renameNew(l.Path, name); err != nil {
		return fmt.Errorf("rotate log: %w", err)
	}
	if err := reopen(ctx, l.ContainerID); err != nil {
		err = fmt.Errorf("reopen log %s: %w", l.Path, err)
		if back := renameNew(name, l.Path); !errors.Is(back, os.ErrExist) {
			return errors.Join(err, back)
		}
		return errors.Join(err, removeOldest(l.Path, p.MaxFiles-1)) // it was opened all the same
	}
	return removeOldest(l.Path, p.MaxFiles-1) // now: without a rotation nothing is too much
}

// nextName is a name later than all that the log's rotated files have: two
// rotations in one second get two of them.
func nextName(log string, now time.Time) (string, error) {
	older, err := Rotated(log)
	if err != nil {
		return "", err
	}
	stamp := now.Format(StampLayout)
	if len(older) > 0 {
		newest := Stamp(log, older[len(older)-1])
		at, err := time.ParseInLocation(StampLayout, newest, now.Location())
		if err != nil {
			return "", fmt.Errorf("name of a rotated log: %w", err)
		}
		stamp = max(stamp, at.Add(time.Second).Format(StampLayout))
	}
	return log + "." + stamp, nil
}

// renameNew renames a file, never over another one.
func renameNew(from, to string) error {
	err := unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, to, unix.RENAME_NOREPLACE)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) { // not every file system can do that
		if _, err = os.Lstat(to); err == nil {
			return &os.LinkError{Op: "rename", Old: from, New: to, Err: os.ErrExist}
		}
		return os.Rename(from, to)
	}
	if err != nil {
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: err}
	}
	return nil
}

// removeOldest leaves at most keep rotated files.
func removeOldest(log string, keep int) error {
	older, err := Rotated(log)
	if err != nil {
		return err
	}
	surplus := max(0, len(older)-keep)
	for i, path := range older[:surplus] {
		if next := i + 1; next == surplus && next < len(older) {
			_ = KeepBegun(log, path, older[next]) // a full disk must not keep the file
		}
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("remove an old log: %w", err)
		}
		if !strings.HasSuffix(path, Compressed) { // a crash may have left it in both forms
			if err := os.Remove(path + Compressed); err != nil && !errors.Is(err, os.ErrNotExist) {
				return fmt.Errorf("remove an old log: %w", err)
			}
		}
	}
	return nil
}

// uncompressed are the rotated files that are to be compressed: all but the
// newest, which may still be written after a crash, and which a reader that
// follows the log reads next.
func uncompressed(log string) ([]string, error) {
	older, err := Rotated(log)
	if err != nil {
		return nil, err
	}
	older = older[:max(0, len(older)-1)]
	return slices.DeleteFunc(older, func(path string) bool { return strings.HasSuffix(path, Compressed) }), nil
}

// writerPatience is how long a file that was rotated away may stay open for writing
// without anything being written. A runtime that is held up, by a disk that is busy or
// because it was stopped, has up to a few thousand lines to write when it goes on.
const writerPatience = time.Minute

// rest is what may still be written to a file that was rotated away.
type rest struct {
	since time.Time // when something came last
}

type verdict int

const (
	restComes   verdict = iota // wait
	restRead                   // all of it was read
	restGivenUp                // something may be left
)

// judge takes a look at the file: whether anything came since the last one, and
// whether it was open for writing before that was read. An error says that there is no
// telling: then a file that has been quiet for a while is complete.
func (r *rest) judge(now time.Time, came, written bool, err error) verdict {
	if came {
		r.since = now
	}
	quiet := now.Sub(r.since)
	switch {
	case err == nil && !written, err != nil && quiet >= writerTimeout:
		return restRead
	case quiet >= writerPatience:
		return restGivenUp
	}
	return restComes
}
