package csi

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/internal/powercut"
)

// TestCompletesInPlace: what is noted after the driver's answer is written into the file that was
// there before the call, with no other beside it: nothing waits for the disk (A-CSI-4, A-CSI-12).
func TestCompletesInPlace(t *testing.T) {
	claim, bound := growing(v1.PersistentVolumeClaimNodeResizePending)
	m := newMachine(t, newDriver(t, staging, expanding), nil, claim)
	staged := m.volumes.layout.staged(driverName, "handle-pv")
	published := m.volumes.layout.volume("uid-pod", "pv")
	before := map[string]os.FileInfo{}
	for call, dir := range map[string]string{"Stage": staged, "Publish": published} {
		m.driver.once(call, func(_ context.Context, do func() error) error {
			r, err := readRecord(dir)
			assert.True(t, err == nil && r[keyDone] == "" && r[keySize] == "", "before the answer to %s the record is %v, %v", call, r, err)
			before[dir], _ = os.Stat(filepath.Join(dir, recordName))
			return do()
		})
	}
	pod := podOf("pod")
	m.mustPublish(pod, bound)
	for dir, was := range before {
		now, err := os.Stat(filepath.Join(dir, recordName))
		assert.True(t, err == nil && os.SameFile(was, now), "another record was made in %s: %v", dir, err)
		r, err := readRecord(dir)
		assert.True(t, err == nil && r[keyDone] == "boot", "record in %s: %v, %v", dir, r, err)
		entries, err := os.ReadDir(dir)
		assert.True(t, err == nil && len(entries) == 2, "in %s: %v, %v; want the mount and its record", dir, entries, err)
	}
	r, err := readRecord(published)
	assert.True(t, err == nil && r[keySize] == "2097152", "the volume was expanded to 2 MiB, its record is %v, %v", r, err)
	m.driver.forgetCalls()
	m.begin()
	m.mustPublish(pod, bound)
	m.wantCalls()
	m.end(pod)
}

// TestCompletedRecordSurvivesPowerCut: what is written in place may be lost, and never what was there before.
func TestCompletedRecordSurvivesPowerCut(t *testing.T) {
	disk := powercut.NewDisk(t)
	dir := filepath.Join(disk.Dir, "folder")
	assert.Must(t, os.Mkdir(dir, 0o700))
	disk.Settle()
	r := record{keyDriver: "d", keyHandle: "h", keyDone: room(len("boot"))}
	assert.Must(t, writeRecord(dir, r))
	r[keyDone] = "boot"
	assert.Must(t, complete(dir, r))
	disk.Cut()
	got, err := readRecord(dir)
	delete(got, keyDone)
	diff := cmp.Diff(record{keyDriver: "d", keyHandle: "h"}, got)
	assert.True(t, err == nil && diff == "", "after a power cut (-want +got):\n%s%v", diff, err)
}

// TestComplete: what was on disk before counts for nothing but its length, and a record of an
// agent that left no room is written anew.
func TestComplete(t *testing.T) {
	plain := record{keyDriver: "d", keyHandle: "h"}
	with := func(values record) record {
		r := maps.Clone(plain)
		maps.Copy(r, values)
		return r
	}
	sized := with(record{keyDone: "boot"})
	for name, before := range map[string]record{
		"with room":             with(record{keyDone: room(4), keySize: room(sizeDigits)}),
		"without room":          plain,
		"without room for size": with(record{keyDone: room(4)}),
		"of another boot":       with(record{keyDone: "past", keySize: room(sizeDigits)}),
		"without a record":      nil,
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if before != nil {
				assert.Must(t, writeRecord(dir, before))
			}
			after := with(record{keyDone: "boot", keySize: "7" + room(sizeDigits-1)})
			assert.Must(t, complete(dir, after))
			got, err := readRecord(dir)
			want := with(sized)
			want[keySize] = "7"
			diff := cmp.Diff(want, got)
			assert.True(t, err == nil && diff == "", "record (-want +got):\n%s%v", diff, err)
		})
	}
}

// TestRecordNotCompleted: a boot that was not written to the end is none, and neither is room for
// one: the volume may be there, and the driver is called again (A-CSI-12).
func TestRecordNotCompleted(t *testing.T) {
	for _, done := range []string{"", "    ", "bo  ", "  ot"} {
		dir := t.TempDir()
		assert.Must(t, writeRecord(dir, record{keyDriver: "d", keyHandle: "h", keyDone: done, keySize: room(sizeDigits)}))
		r, err := readRecord(dir)
		assert.True(t, err == nil && r[keyDone] == "" && r[keySize] == "", "with %q: %v, %v", done, r, err)
	}
}
