package journal

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/lifecycle"
)

func create(t *testing.T, dir, uid string) *Writer {
	t.Helper()
	w := assert.Get(Folder{Dir: dir}.Writers().Create(Pod{UID: uid, Namespace: "default", Name: "web"})).Must(t)
	t.Cleanup(func() { _ = w.Close() }) // may be closed already
	return w
}

// report is a step that gives one entry, with a text of that length.
func report(w *Writer, length int) error {
	_, err := w.Step(time.Unix(1, 0), lifecycle.Woke{}, []lifecycle.Effect{
		lifecycle.Tell{Report: lifecycle.Report{Subject: "pod", Kind: "setup-failed", Message: strings.Repeat("x", length/2), Rule: "A-RST-1"}},
	})
	return err
}

func read(t *testing.T, dir, uid string) *Record {
	t.Helper()
	return assert.Get(Folder{Dir: dir}.Read(uid)).Must(t)
}

// TestBounds: however much happens to a pod, its first entries and the newest stay, and the
// record says how many are missing between them.
func TestBounds(t *testing.T) {
	dir := t.TempDir()
	w := create(t, dir, "u")
	const entries = 3000
	for range entries {
		assert.Must(t, report(w, 1000))
	}
	r := read(t, dir, "u")
	first, last := r.Entries[0].ID, r.Entries[len(r.Entries)-1].ID
	assert.True(t, first == 1 && last == entries && r.Left != 0 && int64(len(r.Entries))+r.Left == entries,
		"%d to %d, %d left out of %d", first, last, r.Left, len(r.Entries))
	one, err := measure(filepath.Join(dir, "u"))
	most := int64(firstSize + 2*newestSize + 16<<10)
	assert.True(t, err == nil && one.bytes <= most, "%d bytes on disk, at most %d are expected; %v", one.bytes, most, err)
}

// TestGoesOn: another lifepod goes on where the last one was, and only one at a time.
func TestGoesOn(t *testing.T) {
	dir := t.TempDir()
	w := create(t, dir, "u")
	assert.Must(t, report(w, 1))
	assert.ErrorIs(t, unix.EWOULDBLOCK, assert.ErrorOf((Folder{Dir: dir}).Writers().Create(Pod{UID: "u"})), "a second writer")
	assert.True(t, read(t, dir, "u").Living, "the pod has a lifepod")
	assert.Must(t, w.Close())
	assert.True(t, !read(t, dir, "u").Living, "the pod has no lifepod any more")
	assert.Must(t, report(create(t, dir, "u"), 1))
	r := read(t, dir, "u")
	assert.True(t, len(r.Entries) == 2 && r.Entries[1].ID == 2, "entries %+v", r.Entries)
}

// TestFullDisk: entries for which a full disk has no room are written when there is room again, as far as they can wait; the journal
// says how many are missing of the others.
func TestFullDisk(t *testing.T) {
	for _, more := range []int{1, 20, 200} {
		disk := t.TempDir()
		assert.Must(t, unix.Mount("tmpfs", disk, "tmpfs", 0, "size=64k"))
		defer func() { _ = unix.Unmount(disk, unix.MNT_DETACH) }()
		w := create(t, disk, "u")
		var err error
		written := 0
		for ; err == nil && written < 1000; written++ {
			err = report(w, 1000)
		}
		assert.Require(t, errors.Is(err, unix.ENOSPC), "the disk is not full: %v", err)
		for range more {
			assert.ErrorIs(t, unix.ENOSPC, report(w, 1000), "the disk is still full")
		}
		assert.Must(t, unix.Mount("", disk, "", unix.MS_REMOUNT, "size=1m"))
		assert.Must(t, w.Close())
		r := read(t, disk, "u")
		n, last := len(r.Entries), r.Entries[len(r.Entries)-1]
		assert.True(t, r.Left == 0 == (more < 100) && int64(n)+r.Left == last.ID && last.ID == int64(written+more),
			"%d entries, %d left out, the last is %d of %d", n, r.Left, last.ID, written+more)
	}
}

// TestSweep: pods without a lifepod go when they are too old or too many, the oldest first.
func TestSweep(t *testing.T) {
	dir := t.TempDir()
	now := time.Now()
	for i := range 4 {
		uid := strconv.Itoa(i)
		w := create(t, dir, uid)
		assert.Must(t, report(w, 10_000))
		if uid != "3" { // whose lifepod lives
			assert.Must(t, w.Close())
		}
		age := now.Add(-time.Duration(i) * time.Hour)
		for _, name := range []string{podFile, firstFile, ""} {
			assert.Must(t, os.Chtimes(filepath.Join(dir, uid, name), age, age))
		}
	}
	stay := func(bounds Bounds, want ...string) {
		t.Helper()
		assert.Must(t, (Folder{Dir: dir}).Sweep(now, bounds))
		pods, err := Folder{Dir: dir}.Pods()
		var got []string
		for _, p := range pods {
			got = append(got, p.UID)
		}
		assert.True(t, err == nil && fmt.Sprint(got) == fmt.Sprint(want), "%v stay, want %v; %v", got, want, err)
	}
	stay(Bounds{Age: 24 * time.Hour, Bytes: 1 << 20}, "0", "1", "2", "3")
	stay(Bounds{Age: 90 * time.Minute, Bytes: 1 << 20}, "0", "1", "3")
	stay(Bounds{Age: 24 * time.Hour, Bytes: 40_000}, "0", "3")
}

// TestSweepLeavesBeginnings: a folder that a lifepod has just made is no old one without files.
func TestSweepLeavesBeginnings(t *testing.T) {
	dir := t.TempDir()
	begun := filepath.Join(dir, "u")
	assert.Must(t, os.Mkdir(begun, 0o700))
	assert.Must(t, (Folder{Dir: dir}).Sweep(time.Now(), Usual))
	assert.NoError(t, assert.ErrorOf(os.Stat(begun)))
}

// TestKilled: what was written before a kill -9, at whatever moment, is read after it.
func TestKilled(t *testing.T) {
	if dir := os.Getenv("LIFEPOD_JOURNAL"); dir != "" {
		writeUntilKilled(dir)
	}
	dir := t.TempDir()
	var known int64
	for range 10 {
		command := exec.Command(os.Args[0], "-test.run=^TestKilled$")
		command.Env = append(os.Environ(), "LIFEPOD_JOURNAL="+dir)
		out, err := command.StdoutPipe()
		if err == nil {
			err = command.Start()
		}
		assert.Must(t, err)
		lines := bufio.NewScanner(out)
		for range rand.IntN(2000) + 1 {
			assert.Require(t, lines.Scan(), "it has ended by itself")
			known, _ = strconv.ParseInt(lines.Text(), 10, 64)
		}
		assert.True(t, read(t, dir, "u").Living, "its lifepod lives")
		assert.ErrorIs(t, unix.EWOULDBLOCK, assert.ErrorOf((Folder{Dir: dir}).Writers().Create(Pod{UID: "u"})), "a writer beside that of another process")
		_ = command.Process.Kill()
		for lines.Scan() { // what it has said before its end
			known, _ = strconv.ParseInt(lines.Text(), 10, 64)
		}
		_ = command.Wait() // killed
		r := read(t, dir, "u")
		last := r.Entries[len(r.Entries)-1].ID
		assert.Require(t, last >= known, "entry %d was written, the last one is %d", known, last)
		assert.True(t, !r.Living, "its lifepod was killed")
	}
}

// writeUntilKilled prints the ID of each entry that is written.
func writeUntilKilled(dir string) {
	w, err := Folder{Dir: dir}.Writers().Create(Pod{UID: "u"})
	for err == nil {
		if err = report(w, 50+rand.IntN(500)); err == nil {
			_, err = io.WriteString(os.Stdout, strconv.FormatInt(w.recorder.last, 10)+"\n")
		}
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// TestObjectGone: what held the object of a pod up that is gone from its node is no more when the object is.
func TestObjectGone(t *testing.T) {
	dir := t.TempDir()
	w := create(t, dir, "u")
	held := []lifecycle.Wait{{Subject: "pod", For: lifecycle.WaitFinalizers, On: "example.com/keep"}}
	for stage, left := range map[string]int{"gone": 0, "terminating": 1} {
		assert.Must(t, w.Now(Now{Stage: stage, Phase: "Failed", Waits: held}))
		assert.Must(t, (Folder{Dir: dir}).ObjectGone("u"))
		r := read(t, dir, "u")
		assert.True(t, len(r.Now.Waits) == left && r.Now.Phase == "Failed" && r.Now.Stage == stage, "%s: %+v", stage, r.Now)
		w.now++ // which ObjectGone has written
	}
}

// TestDeletedInTheAPI: that a pod was deleted is known by its object, with what is left of its grace period.
func TestDeletedInTheAPI(t *testing.T) {
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	then := []lifecycle.Effect{lifecycle.StopSandbox{ID: 1}}
	for _, test := range []struct {
		until *metav1.Time
		want  string
	}{{nil, ""}, {&metav1.Time{Time: at.Add(6500 * time.Millisecond)}, "7"}, {&metav1.Time{Time: at.Add(-time.Minute)}, "1"}} {
		pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: test.until}}
		got := NewRecorder(nil).Step(at, lifecycle.PodUpdated{Pod: pod}, then)[0]
		assert.True(t, got.Detail[DetailGrace] == test.want, "deleted until %v: %q seconds are left, want %q", test.until, got.Detail[DetailGrace], test.want)
	}
}

// TestExitInASnapshot: the runtime's list may show an exit before its event comes. It follows from what was begun to
// end the instance all the same.
func TestExitInASnapshot(t *testing.T) {
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	first := []lifecycle.ObservedContainer{{Name: "main", ID: "c0"}}
	second := []lifecycle.ObservedContainer{{Name: "main", ID: "c0"}, {Name: "main", ID: "c1", Attempt: 1}}
	exit := func(code int32) []lifecycle.Effect {
		return []lifecycle.Effect{lifecycle.Tell{Report: lifecycle.Report{Subject: "main", Kind: lifecycle.KindExited, Code: code, Rule: "A-RST-1"}}}
	}
	r := NewRecorder(nil)
	r.Step(at, lifecycle.Observed{Containers: first}, nil)
	stopped := r.Step(at, lifecycle.RestartRequested{Container: "main"}, []lifecycle.Effect{lifecycle.StopContainer{ID: 1, Container: "main", ContainerID: "c0"}})
	asked := stopped[len(stopped)-1]
	ended := r.Step(at, lifecycle.Observed{Containers: first}, exit(0))
	decided := ended[len(ended)-1]
	assert.True(t, asked.Name == "StopContainer" && decided.Cause == asked.ID, "the decision %+v does not follow from %+v", decided, asked)
	crashed := r.Step(at, lifecycle.Observed{Containers: second}, exit(1))
	decided = crashed[len(crashed)-1]
	assert.True(t, decided.Cause == crashed[0].ID, "the decision %+v follows from more than the snapshot", decided)
}
