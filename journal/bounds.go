//go:build linux

package journal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Bounds are how much stays of pods that no lifepod leads.
type Bounds struct {
	Age   time.Duration // since something was written about the pod
	Bytes int64         // of all of them together, on disk
}

// Usual are the bounds of lifepod's commands: a week, and 256 MiB.
var Usual = Bounds{Age: 7 * 24 * time.Hour, Bytes: 256 << 20}

// sweepPeriod is the time between two looks for what is to go.
const sweepPeriod = time.Hour

// Keep removes what is beyond the bounds, at once and every hour, until ctx ends. failed is
// told of errors.
func (f Folder) Keep(ctx context.Context, bounds Bounds, failed func(error)) {
	ticker := time.NewTicker(sweepPeriod)
	defer ticker.Stop()
	for {
		if err := f.Sweep(time.Now(), bounds); err != nil {
			failed(err)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// Sweep removes the folders of pods that no lifepod leads: of those that are too old, and
// the oldest until all that stay are small enough.
func (f Folder) Sweep(now time.Time, bounds Bounds) error {
	entries, err := os.ReadDir(f.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	var left []folder
	var all error
	for _, e := range entries {
		one, err := measure(filepath.Join(f.Dir, e.Name()))
		if !errors.Is(err, fs.ErrNotExist) { // another lifepod may sweep, too
			all = errors.Join(all, err)
		}
		left = append(left, one)
	}
	slices.SortFunc(left, func(a, b folder) int { return cmp.Or(b.written.Compare(a.written), cmp.Compare(a.dir, b.dir)) })
	var sum int64
	locks := f.newLocks()
	for _, one := range left {
		if sum += one.bytes; sum > bounds.Bytes || now.Sub(one.written) > bounds.Age {
			all = errors.Join(all, remove(one.dir, locks))
		}
	}
	return all
}

// folder is a pod's.
type folder struct {
	dir     string
	written time.Time // the newest file, or the folder while it has none
	bytes   int64
}

func measure(dir string) (folder, error) {
	one := folder{dir: dir}
	err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if info.ModTime().After(one.written) {
			one.written = info.ModTime()
		}
		one.bytes += info.Sys().(*syscall.Stat_t).Blocks * 512
		return nil
	})
	return one, err
}

// Remove removes what the journal has of a pod, unless a lifepod leads it.
func (f Folder) Remove(uid string) error {
	dir := f.of(uid)
	if filepath.Base(dir) != uid { // not even that of no name, which is the journal
		return fmt.Errorf("journal: pod %q: %w", uid, fs.ErrNotExist)
	}
	return remove(dir, f.newLocks())
}

// remove removes a pod's folder unless a lifepod leads the pod. One that begins meanwhile waits for a moment.
func remove(dir string, locks *locks) (err error) {
	err = locks.take(dir)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	defer func() { err = errors.Join(err, locks.release(dir)) }()
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	return nil
}
