package run

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/worker/criconfig"
	"github.com/lifepod/lifepod/worker/podlog"
)

// A log is followed across its rotations: every line once, in order, also of a
// line that begins in one file and ends in the next (B-LOG-1).
func TestFollowAcrossRotation(t *testing.T) {
	f := newFollow(t, "", "a")
	file := f.start("a", 0, "stdout F 1", "stdout P 2a")
	path := file.Name()
	for i, stamp := range []string{"20260102-030405", "20260102-030406", "20260102-030407"} {
		assert.Must(t, os.Rename(path, path+"."+stamp))
		next := assert.Get(os.Create(path)).Must(t)
		f.write(file, "stdout P 2b") // the runtime writes on in the old one for a moment
		_ = file.Close()
		file = next
		f.write(file, "stdout F 2c", fmt.Sprintf("stdout F %d", i+3), "stdout P 2a")
	}
	f.write(file, "stdout F ")
	_ = file.Close()
	f.exit("a", 0)
	assert.Deep(t, "", "1\n2a2b2c\n3\n2a2b2c\n4\n2a2b2c\n5\n2a\n", f.end())
}

// What was rotated before anybody followed is shown, compressed or not.
func TestFollowWhatWasRotated(t *testing.T) {
	f := newFollow(t, "", "a")
	path := filepath.Join(f.logDir, criconfig.ContainerLogPath("a", 0))
	writer := newRotating(t, path, podlog.RotationPolicy{MaxBytes: 100, MaxFiles: 1000})
	writer.lines(200)
	for older := []string(nil); len(older) == 0; { // compressing goes on beside the writer
		older, _ = filepath.Glob(path + ".*.gz")
	}
	writer.stop()
	last := assert.Get(os.ReadFile(path)).Must(t)
	_ = f.start("a", 0).Close() // which begins the file anew
	assert.Must(t, os.WriteFile(path, last, 0o600))
	f.exit("a", 0)
	assert.Deep(t, "", numbered(200), f.end())
}

// A writer that is much faster than its log is large: every line is shown once,
// in order, while the oldest files are removed (B-LOG-1).
func TestFollowFastWriter(t *testing.T) {
	f := newFollow(t, "", "a")
	_ = f.start("a", 0).Close()
	path := filepath.Join(f.logDir, criconfig.ContainerLogPath("a", 0))
	writer := newRotating(t, path, podlog.RotationPolicy{MaxBytes: 4 << 10, MaxFiles: 3})
	writer.lines(100_000)
	writer.stop()
	f.exit("a", 0)
	got := f.end()
	assert.True(t, got == numbered(100_000), "%d lines, want 100000; the end is %q", strings.Count(got, "\n"), got[max(0, len(got)-100):])
	files, err := filepath.Glob(path + "*")
	assert.True(t, err == nil && len(files) <= 3 && writer.opened >= 3, "files %v after %d rotations, %v: want at most 3", files, writer.opened, err)
}

func numbered(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "line %d\n", i)
	}
	return b.String()
}

// rotating is a container whose log a real rotator rotates.
type rotating struct {
	t       *testing.T
	path    string
	rotator *podlog.Rotator
	cancel  context.CancelFunc
	done    chan struct{}
	reopen  chan chan struct{} // asks the writer
	file    *os.File
	opened  int
	written int64 // bytes in the file
	limit   int64
}

func newRotating(t *testing.T, path string, policy podlog.RotationPolicy) *rotating {
	r := &rotating{t: t, path: path, done: make(chan struct{}), reopen: make(chan chan struct{}), limit: policy.MaxBytes}
	assert.Must(t, os.MkdirAll(filepath.Dir(path), 0o700))
	r.open()
	r.rotator = podlog.NewRotator(policy, func(ctx context.Context, _ string) error {
		reopened := make(chan struct{})
		select {
		case r.reopen <- reopened:
			<-reopened
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}, slog.New(slog.DiscardHandler))
	r.rotator.Watch("uid", []podlog.RotatedLog{{ContainerID: "c", Path: path}})
	var ctx context.Context
	ctx, r.cancel = context.WithCancel(t.Context())
	go func() {
		defer close(r.done)
		r.rotator.Run(ctx)
	}()
	return r
}

func (r *rotating) open() {
	file := assert.Get(os.OpenFile(r.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)).Must(r.t)
	r.file, r.written = file, 0
	r.opened++
}

// lines writes numbered lines, and waits for a rotation now and then when the log
// is too large, so that the test has some.
func (r *rotating) lines(n int) {
	for i := range n {
		size := assert.Get(fmt.Fprintf(r.file, "2026-01-02T03:04:05.000000006Z stdout F line %d\n", i)).Must(r.t)
		r.written += int64(size)
		wait := (i+1)%(n/8) == 0 && r.written > r.limit
		for asked := true; asked; {
			asked = r.serve(wait)
			wait = false
		}
	}
	_ = r.file.Close()
}

// serve opens the log anew if it is asked to.
func (r *rotating) serve(wait bool) bool {
	var reopened chan struct{}
	if wait {
		reopened = <-r.reopen
	} else {
		select {
		case reopened = <-r.reopen:
		default:
			return false
		}
	}
	old := r.file
	r.open()
	_ = old.Close()
	close(reopened)
	return true
}

func (r *rotating) stop() {
	r.rotator.Watch("uid", nil)
	r.rotator.Leave("uid")
	r.cancel()
	<-r.done
}
