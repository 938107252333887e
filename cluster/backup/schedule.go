package backup

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Schedule says when backups are made, and how many are kept.
type Schedule struct {
	Every time.Duration
	Keep  int    // the newest; at least 1
	Dir   string // made with mode 0700
	Log   *slog.Logger
}

// Names of scheduled backups: they are sorted by time. Only files of such a name are
// ever deleted.
const (
	filePrefix = "lifepod-"
	fileTime   = "20060102-150405"
	fileSuffix = ".tar.zst"
)

// FileName is what a backup of that time is called.
func FileName(at time.Time) string { return filePrefix + at.UTC().Format(fileTime) + fileSuffix }

// retryAfter is when a backup that failed is tried again, unless the next one is due
// before.
const retryAfter = 10 * time.Minute

// staleAfter is the age from which the remains of an interrupted backup can be removed.
const staleAfter = time.Hour

// Run makes backups until ctx ends. The first is due when the newest in the folder
// is old enough, so that restarts neither skip nor add any.
func Run(ctx context.Context, c Config, s Schedule) error {
	if s.Every <= 0 || s.Keep < 1 {
		return fmt.Errorf("scheduled backups: every %v, of which %d are kept: want a time above 0 and to keep at least 1", s.Every, s.Keep)
	}
	failed := false
	for ctx.Err() == nil {
		wait := s.wait(time.Now())
		if failed {
			wait = min(s.Every, retryAfter)
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-timer.C:
		}
		err := s.once(ctx, c, time.Now())
		if failed = err != nil; failed && ctx.Err() == nil {
			s.Log.Error("scheduled backup", "err", err, "again", min(s.Every, retryAfter))
		}
	}
	return nil
}

func (s Schedule) once(ctx context.Context, c Config, now time.Time) error {
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return err
	}
	s.sweep(now)
	file := filepath.Join(s.Dir, FileName(now))
	m, err := Save(ctx, c, file)
	if err != nil {
		return err
	}
	s.Log.Info("backup", "file", file, "revision", m.Revision)
	return s.rotate()
}

// wait is how long it is until the next backup.
func (s Schedule) wait(now time.Time) time.Duration {
	made, err := List(s.Dir)
	if err != nil || len(made) == 0 {
		return 0
	}
	newest := made[len(made)-1].Time
	if newest.After(now) {
		return 0 // the clock was set back
	}
	return max(0, newest.Add(s.Every).Sub(now))
}

// rotate deletes the oldest backups.
func (s Schedule) rotate() error {
	made, err := List(s.Dir)
	for ; len(made) > s.Keep; made = made[1:] {
		err = errors.Join(err, os.Remove(made[0].Path))
	}
	return err
}

// sweep deletes what backups have left that were killed.
func (s Schedule) sweep(now time.Time) {
	left, _ := filepath.Glob(filepath.Join(s.Dir, temporary+"*"))
	for _, path := range left {
		if info, err := os.Lstat(path); err == nil && now.Sub(info.ModTime()) > staleAfter {
			if err := os.RemoveAll(path); err != nil {
				s.Log.Warn("scheduled backup: can't remove what an interrupted backup left", "err", err)
			}
		}
	}
}

// Existing is a backup that was made.
type Existing struct {
	Path string
	Time time.Time
}

// List names the scheduled backups of a folder, the oldest first. A folder that is
// not there has none.
func List(dir string) (made []Existing, err error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries { // sorted by name
		name, ok := strings.CutPrefix(e.Name(), filePrefix)
		name, whole := strings.CutSuffix(name, fileSuffix)
		if at, err := time.Parse(fileTime, name); ok && whole && err == nil && e.Type().IsRegular() {
			made = append(made, Existing{Path: filepath.Join(dir, e.Name()), Time: at})
		}
	}
	return made, err
}
