package journal

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/lifecycle"
)

func attemptsOf(t *testing.T, dir, uid, container string) (all []uint32) {
	t.Helper()
	for _, end := range read(t, dir, uid).Ends {
		if end.Container == container {
			all = append(all, end.Attempt)
		}
	}
	return all
}

// TestEnds: of each container the first end and the last five stay, with the end of their logs.
func TestEnds(t *testing.T) {
	dir := t.TempDir()
	w := create(t, dir, "u")
	for attempt := range uint32(9) {
		log := append(bytes.Repeat([]byte{'x'}, LogBytes), byte('0'+attempt))
		assert.Must(t, KeepEnd(w.Dir(), End{Container: "main", Attempt: attempt, Exit: Exit{Code: 1}}, log))
	}
	assert.Must(t, KeepEnd(w.Dir(), End{Container: "other"}, nil))
	assert.Deep(t, "ends", []uint32{0, 4, 5, 6, 7, 8}, attemptsOf(t, dir, "u", "main"))
	f := Folder{Dir: dir}
	log, err := f.Log("u", "main", 8)
	assert.True(t, err == nil && len(log) == LogBytes && strings.HasSuffix(string(log), "x8"), "%d bytes of log, %v", len(log), err)
	assert.ErrorIs(t, fs.ErrNotExist, assert.ErrorOf(f.Log("u", "main", 2)), "log of an end that was given up")
	assert.Must(t, os.WriteFile(filepath.Join(w.Dir(), "ends", "main", "4.json"), []byte(`{"container":`), 0o600))
	assert.Deep(t, "with a damaged one", []uint32{0, 5, 6, 7, 8}, attemptsOf(t, dir, "u", "main"))
}

// TestEndOnAFullDisk: an end whose log finds no room is kept without it, and nothing is left of
// the attempt.
func TestEndOnAFullDisk(t *testing.T) {
	disk := t.TempDir()
	assert.Must(t, unix.Mount("tmpfs", disk, "tmpfs", 0, "size=64k"))
	defer func() { _ = unix.Unmount(disk, unix.MNT_DETACH) }()
	w := create(t, disk, "u")
	assert.Must(t, KeepEnd(w.Dir(), End{Container: "main"}, []byte("short")))
	assert.ErrorIs(t, unix.ENOSPC, KeepEnd(w.Dir(), End{Container: "main", Attempt: 1}, make([]byte, LogBytes)))
	assert.Deep(t, "ends", []uint32{0, 1}, attemptsOf(t, disk, "u", "main"))
	assert.ErrorIs(t, fs.ErrNotExist, assert.ErrorOf((Folder{Dir: disk}).Log("u", "main", 1)), "its log")
	left, _ := filepath.Glob(filepath.Join(w.Dir(), "ends", "main", "*.new"))
	assert.True(t, len(left) == 0, "left behind: %q", left)
}

// TestChain: an end has what led to it and what was decided, also of entries of a lifepod before.
func TestChain(t *testing.T) {
	dir := t.TempDir()
	w := create(t, dir, "u")
	at := time.Unix(1, 0)
	step := func(fact lifecycle.Fact, effects ...lifecycle.Effect) []Entry {
		t.Helper()
		return assert.Get(w.Step(at, fact, effects)).Must(t)
	}
	step(lifecycle.Accepted{}, lifecycle.CreateContainer{ID: 1, Container: "main"})
	step(lifecycle.ContainerCreated{Result: lifecycle.Result{ID: 1}, ContainerID: "c"})
	step(lifecycle.RestartRequested{Container: "main", Because: lifecycle.Because{Text: "lifepod restart"}},
		lifecycle.Tell{Report: lifecycle.Report{Subject: "main", Kind: lifecycle.KindRestartRequested}},
		lifecycle.StopContainer{ID: 2, Container: "main", ContainerID: "c", TimeoutSeconds: 30})
	assert.Must(t, w.Close())
	w = create(t, dir, "u")
	assert.Empty(t, w.Unkept(), "not kept before anything has ended")
	entries := step(lifecycle.ContainerExited{ContainerID: "c", ExitCode: 143},
		lifecycle.Tell{Report: lifecycle.Report{Subject: "main", Kind: lifecycle.KindExited, Code: 143, Outcome: lifecycle.ThenRestart}},
		lifecycle.Tell{Report: lifecycle.Report{Subject: "pod", Kind: "pod-not-ready"}})
	end := w.End(entries[0])
	var chain []string
	for _, e := range end.Chain {
		chain = append(chain, string(e.Kind)+" "+e.Name+e.What)
	}
	want := []string{"fact RestartRequested", "decided restart requested", "begun StopContainer", "fact ContainerExited", "decided exited 143"}
	assert.Deep(t, "chain", want, chain)
	assert.True(t, end.Container == "main" && end.Exit.Code == 143, "end %+v", end)
	assert.Deep(t, "what is not kept yet", []End{end}, w.Unkept())
	assert.Must(t, KeepEnd(w.Dir(), end, nil))
	assert.Empty(t, w.Unkept(), "not kept")
}
