package podlog

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lifepod/lifepod/internal/assert"
)

// When a growing log is looked at next: the faster it grows the sooner (B-LOG-1).
func TestWait(t *testing.T) {
	for _, test := range []struct {
		name           string
		size, bytes    int64
		elapsed, wants time.Duration
	}{
		{"slow", 1000, 10, 250 * time.Millisecond, active},
		{"full in 400 ms", 600, 100, 100 * time.Millisecond, 200 * time.Millisecond},
		{"full at once", 900, 900, 100 * time.Millisecond, shortest},
		{"first look", 10, 10, 0, shortest},
		{"full", 1000, 10, time.Second, shortest},
	} {
		p := position{size: test.size, bytes: test.bytes, elapsed: test.elapsed}
		limit := int64(1000)
		if test.name == "slow" {
			limit = 10 << 20
		}
		assert.Equal(t, test.wants, p.wait(limit), "%s", test.name)
	}
}

func TestMove(t *testing.T) {
	at := time.Unix(100, 0)
	var p position
	for i, step := range []struct {
		size, bytes int64
		grew        bool
	}{{5, 5, true}, {5, 0, false}, {25, 20, true}, {3, 3, true}} { // the last is a new file
		grew := p.move(step.size, false, at.Add(time.Duration(i)*time.Second))
		assert.True(t, grew == step.grew && p.bytes == step.bytes, "look %d: grew %v by %d, want %v by %d", i, grew, p.bytes, step.grew, step.bytes)
	}
}

// rotatorOf has one log, which the test has looked at.
func rotatorOf(t *testing.T, path string, reopen Reopen) (*Rotator, *bytes.Buffer) {
	var out bytes.Buffer
	r := NewRotator(RotationPolicy{MaxBytes: 3, MaxFiles: 2}, reopen, slog.New(slog.NewTextHandler(&out, nil)))
	r.Watch("uid", []RotatedLog{{ContainerID: "c", Path: path}})
	t.Cleanup(func() { r.Leave("uid") })
	return r, &out
}

// all are the logs that are watched.
func (r *Rotator) all() (all []*rotating) {
	for _, p := range r.pods {
		for _, w := range p.logs {
			all = append(all, w)
		}
	}
	return all
}

// look is one look at the log, and the wait for what follows from it.
func (r *Rotator) look(now time.Time) time.Duration {
	w := r.all()[0]
	r.check(w, now, &writes{})
	w.pod.work.Wait()
	return w.due.Sub(now)
}

// A running container's log that is missing is opened anew, nothing is renamed (B-LOG-1).
func TestMissing(t *testing.T) {
	log := logWith(t, "0.log.20260101-000001")
	r, _ := rotatorOf(t, log, reopenAs(log, nil))
	r.look(time.Now())
	assert.Deep(t, "files", []string{"0.log", "0.log.20260101-000001"}, namesOf(t, log))
}

// A log that can't be opened anew is told of when it fails again, once, and
// tried until it works.
// A check that comes while a rotation ends, and has seen the log missing or still
// large, has nothing renamed or opened anew: there is a new file already.
func TestRotatedMeanwhile(t *testing.T) {
	log := logWith(t, "0.log")
	assert.Must(t, os.WriteFile(log, []byte("new"), 0o640)) // not more than it may hold
	r, out := rotatorOf(t, log, func(context.Context, string) error {
		t.Error("opened anew")
		return nil
	})
	w := r.all()[0]
	r.rotate(w)
	w.pod.work.Wait()
	diff := cmp.Diff([]string{"0.log"}, namesOf(t, log))
	assert.True(t, diff == "" && out.Len() <= 0, "told %q; files (-want +got):\n%s", out, diff)
}

// A runtime that makes no log is asked ever less often to open it anew (B-LOG-1).
func TestStaysMissing(t *testing.T) {
	r, _ := rotatorOf(t, logWith(t), func(context.Context, string) error { return nil })
	var waits []time.Duration
	for range 10 {
		waits = append(waits, r.look(time.Now()))
	}
	want := []time.Duration{shortest, 2 * shortest, 4 * shortest, 8 * shortest, 16 * shortest, 32 * shortest, 64 * shortest, 128 * shortest, longest, longest}
	assert.Deep(t, "waits", want, waits)
}

func TestFailureLoggedAndRetried(t *testing.T) {
	log := logWith(t, "0.log")
	var fails error = errors.New("no runtime")
	r, out := rotatorOf(t, log, func(ctx context.Context, id string) error { return reopenAs(log, fails)(ctx, id) })
	var waits []time.Duration
	var messages []int
	for range 3 {
		waits = append(waits, r.look(time.Now()))
		messages = append(messages, strings.Count(out.String(), "no runtime"))
	}
	assert.Deep(t, "waits", []time.Duration{shortest, longest, longest}, waits)
	assert.Deep(t, "messages", []int{0, 1, 1}, messages)
	fails = nil
	r.look(time.Now())
	assert.Deep(t, "files", []string{"0.log", "0.log.NOW"}, namesOf(t, log))
}

// A quiet log is not looked at but every 10 s; its next write is told of by the
// kernel, and a log that has ended is not rotated any more.
func TestQuietLogIsWoken(t *testing.T) {
	log := logWith(t)
	assert.Must(t, os.WriteFile(log, nil, 0o600))
	reopened := make(chan struct{})
	r, _ := rotatorOf(t, log, func(ctx context.Context, id string) error {
		defer close(reopened)
		return reopenAs(log, nil)(ctx, id)
	})
	writes := newWrites()
	defer writes.close()
	now := time.Now()
	w := r.all()[0]
	for range 3 {
		next := r.checkDue(now, writes).Sub(now)
		assert.True(t, w.quiet != nil && next >= longest-time.Second && next <= longest, "quiet: %v; next look in %v, want %v", w.quiet != nil, next, longest)
		now = now.Add(next)
	}
	assert.Must(t, os.WriteFile(log, []byte("more than 3"), 0o600))
	event := <-writes.events
	writes.wake(event.Name, now)
	assert.True(t, w.quiet == nil, "a log that is written is watched for its next write")
	r.checkDue(w.due, writes)
	<-reopened
	now = w.due
	for range 3 { // the new file gets quiet
		r.checkDue(now, writes)
		now = w.due
	}
	assert.True(t, w.quiet != nil, "the new file is not watched")
	r.Watch("uid", nil)
	next := r.checkDue(now, writes).Sub(now)
	if all := r.all(); len(all) != 0 || next != longest || len(writes.quiet) != 0 || len(writes.watcher.WatchList()) != 0 {
		t.Errorf("left: %v, quiet %v, watched %v; next look in %v", all, writes.quiet, writes.watcher.WatchList(), next)
	}
}

// A quiet log whose file becomes another one, as by another rotation, is looked at soon.
func TestQuietLogIsReplaced(t *testing.T) {
	log := logWith(t)
	for _, path := range []string{log, log + ".new"} {
		assert.Must(t, os.WriteFile(path, nil, 0o600))
	}
	r, _ := rotatorOf(t, log, reopenAs(log, nil))
	writes := newWrites()
	defer writes.close()
	now := time.Now()
	r.checkDue(now, writes)
	w := r.all()[0]
	before := w.quiet
	assert.Must(t, os.Rename(log+".new", log))
	event := <-writes.events
	writes.wake(event.Name, now)
	r.checkDue(w.due, writes)
	assert.True(t, before != nil && w.quiet != nil && !os.SameFile(before, w.quiet), "watched before: %v, now: %v", before, w.quiet)
}

// A pod's last status comes when it has left: nothing of it is kept then.
func TestWatchAfterLeave(t *testing.T) {
	r := NewRotator(DefaultRotation(), nil, slog.New(slog.DiscardHandler))
	r.Watch("1", []RotatedLog{{ContainerID: "c", Path: "0.log"}})
	r.Leave("1")
	r.Watch("1", nil)
	assert.Empty(t, r.pods, "pods")
}

// TestWithoutInotify: a machine may have no instance of it left.
func TestWithoutInotify(t *testing.T) {
	w := &writes{}
	assert.True(t, !w.watch("log"), "writes are told of without inotify")
	w.forget("log")
	w.close()
}
