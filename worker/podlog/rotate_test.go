package podlog

import (
	"compress/gzip"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/lifepod/lifepod/internal/assert"
)

// logWith is a log in a folder with other files, all of which hold their name.
func logWith(t *testing.T, files ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range files {
		assert.Must(t, os.WriteFile(filepath.Join(dir, name), []byte(name), 0o640))
	}
	return filepath.Join(dir, "0.log")
}

// namesOf are the files beside a log, with the newest stamp, which is the
// clock's, as NOW.
func namesOf(t *testing.T, log string) []string {
	t.Helper()
	entries := assert.Get(os.ReadDir(filepath.Dir(log))).Must(t)
	names := []string{}
	for _, entry := range entries {
		name := entry.Name()
		if stamp := Stamp(log, filepath.Join(filepath.Dir(log), name)); stamp > "202602" {
			name = strings.Replace(name, stamp, "NOW", 1)
		}
		names = append(names, name)
	}
	return names
}

func reopenAs(log string, err error) Reopen {
	return func(context.Context, string) error {
		if err != nil {
			return err
		}
		return os.WriteFile(log, nil, 0o640)
	}
}

// A rotation leaves at most as many files as asked for, of this instance only (B-LOG-1).
func TestRotate(t *testing.T) {
	others := []string{"0.log.old", "1.log", "1.log.20260101-000001"}
	for _, test := range []struct {
		name   string
		files  []string
		reopen error
		want   []string
	}{
		{"first", []string{"0.log"}, nil, []string{"0.log", "0.log.NOW"}},
		{
			"at most three",
			[]string{"0.log", "0.log.20260101-000001.gz", "0.log.20260101-000002.gz", "0.log.20260101-000003"},
			nil,
			[]string{"0.log", "0.log.20260101-000003", "0.log.NOW"},
		},
		{
			"one that a crash left in both forms",
			[]string{"0.log", "0.log.20260101-000001", "0.log.20260101-000001.gz", "0.log.20260101-000002"},
			nil,
			[]string{"0.log", "0.log.20260101-000002", "0.log.NOW"},
		},
		{
			"as many as asked for, not opened anew",
			[]string{"0.log", "0.log.20260101-000001.gz", "0.log.20260101-000002"},
			errors.New("container is not running"),
			[]string{"0.log", "0.log.20260101-000001.gz", "0.log.20260101-000002"},
		},
		{"not opened anew", []string{"0.log"}, errors.New("container is not running"), []string{"0.log"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			log := logWith(t, append(test.files, others...)...)
			assert.ErrorIs(t, test.reopen, rotate(t.Context(), RotatedLog{Path: log}, RotationPolicy{MaxBytes: 1, MaxFiles: 3}, reopenAs(log, test.reopen)))
			var got []string
			for _, name := range namesOf(t, log) {
				if strings.HasPrefix(name, "0.log") && name != "0.log.old" {
					got = append(got, name)
				}
			}
			assert.Deep(t, "files", test.want, got)
			for _, name := range others {
				assert.NoError(t, assert.ErrorOf(os.Stat(filepath.Join(filepath.Dir(log), name))), "another's file")
			}
		})
	}
}

// Of a line that goes on in a file that is left the beginning is left, too (B-LOG-1).
func TestRotateKeepsBegunLine(t *testing.T) {
	const begun, rest = "2026-01-02T03:04:05Z stdout P 106\n", "2026-01-02T03:04:05Z stdout F 570\n"
	log := logWith(t, "0.log", "0.log.20260101-000000", "0.log.20260101-000001", "0.log.20260101-000002")
	for stamp, text := range map[string]string{"1": begun, "2": rest} {
		assert.Must(t, os.WriteFile(log+".20260101-00000"+stamp, []byte(text), 0o640))
	}
	assert.Must(t, rotate(t.Context(), RotatedLog{Path: log}, RotationPolicy{MaxBytes: 1, MaxFiles: 3}, reopenAs(log, nil)))
	files := Open(log, func() { t.Error("dropped") })
	defer files.Close()
	var got strings.Builder
	r := NewReader(files, func(record string) {
		if _, ok := Parse(record); ok {
			got.WriteString(record)
		}
	})
	over := make(chan struct{})
	close(over)
	r.Until(over)
	r.Close()
	assert.Deep(t, "", begun+rest, got.String())
}

// A call that failed may have opened the log all the same: then both files stay.
func TestRotateReopenUncertain(t *testing.T) {
	log := logWith(t, "0.log")
	lost := errors.New("deadline exceeded")
	err := rotate(t.Context(), RotatedLog{Path: log}, DefaultRotation(), func(context.Context, string) error {
		return errors.Join(lost, os.WriteFile(log, []byte("new"), 0o640))
	})
	assert.True(t, errors.Is(err, lost) && !errors.Is(err, os.ErrExist), "error %v, want %v only", err, lost)
	assert.Deep(t, "files", []string{"0.log", "0.log.NOW"}, namesOf(t, log))
	text, err := os.ReadFile(log)
	assert.True(t, err == nil && string(text) == "new", "log %q, %v: the new file was overwritten", text, err)
}

// Two rotations in one second have two names, in order.
func TestNextName(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 5, 0, time.UTC)
	for _, test := range []struct{ newest, want string }{
		{"", "20260101-000005"},
		{"0.log.20260101-000004.gz", "20260101-000005"},
		{"0.log.20260101-000005", "20260101-000006"},
		{"0.log.20260101-000059.gz", "20260101-000100"},
	} {
		var files []string
		if test.newest != "" {
			files = append(files, test.newest)
		}
		log := logWith(t, files...)
		got, err := nextName(log, now)
		want := log + "." + test.want
		assert.True(t, err == nil && got == want, "after %q: %q, %v, want %q", test.newest, got, err, want)
	}
}

// All but the newest are compressed, and hold what they held (B-LOG-1).
func TestCompressOlder(t *testing.T) {
	log := logWith(t, "0.log", "0.log.20260101-000001.gz", "0.log.20260101-000002", "0.log.20260101-000003",
		"0.log.20260101-000003.gz.tmp", "1.log.20260101-000001")
	assert.Must(t, removeUnfinished(log))
	assert.Must(t, compressOlder(t.Context(), log))
	want := []string{"0.log", "0.log.20260101-000001.gz", "0.log.20260101-000002.gz", "0.log.20260101-000003", "1.log.20260101-000001"}
	assert.Deep(t, "files", want, namesOf(t, log))
	f := assert.Get(os.Open(log + ".20260101-000002.gz")).Must(t)
	defer func() { _ = f.Close() }()
	unpacked := assert.Get(gzip.NewReader(f)).Must(t)
	text, err := io.ReadAll(unpacked)
	assert.True(t, err == nil && string(text) == "0.log.20260101-000002", "unpacked %q, %v", text, err)
}

// A compression that is given up leaves the plain file and nothing else.
func TestCompressCancelled(t *testing.T) {
	log := logWith(t, "0.log.20260101-000001", "0.log.20260101-000002")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	assert.ErrorIs(t, context.Canceled, compressOlder(ctx, log))
	assert.Deep(t, "files", []string{"0.log.20260101-000001", "0.log.20260101-000002"}, namesOf(t, log))
}

// A disk that is full costs no log: also if only the end of the compressed file has no room, the plain one stays (B-LOG-1).
func TestCompressOnFullDisk(t *testing.T) {
	disk := t.TempDir()
	assert.Must(t, unix.Mount("tmpfs", disk, "tmpfs", 0, "size=256k"))
	defer func() { _ = unix.Unmount(disk, unix.MNT_DETACH) }()
	log, text, ballast := filepath.Join(disk, "0.log"), make([]byte, 16<<10), filepath.Join(disk, "ballast")
	_, _ = rand.Read(text) // never fails
	for _, path := range []string{log, log + ".20260101-000001", log + ".20260101-000002"} {
		assert.Must(t, os.WriteFile(path, text, 0o640))
	}
	err := os.WriteFile(ballast, make([]byte, 1<<20), 0o600)
	assert.Require(t, errors.Is(err, unix.ENOSPC), "the disk is not full: %v", err)
	info := assert.Get(os.Stat(ballast)).Must(t)
	assert.Must(t, os.Truncate(ballast, info.Size()-int64(os.Getpagesize()))) // room for the beginning
	assert.ErrorIs(t, unix.ENOSPC, compressOlder(t.Context(), log))
	assert.Deep(t, "files", []string{"0.log", "0.log.20260101-000001", "0.log.20260101-000002", "ballast"}, namesOf(t, log))
}

// What is still being written is not compressed: its end would be lost (B-LOG-1).
func TestCompressAwaitsWriter(t *testing.T) {
	log := logWith(t, "0.log", "0.log.20260101-000001", "0.log.20260101-000002")
	older := log + ".20260101-000001"
	writer := assert.Get(os.OpenFile(older, os.O_WRONLY|os.O_APPEND, 0)).Must(t)
	defer func() { _ = writer.Close() }()
	patient, cancel := context.WithTimeout(t.Context(), 2*rotatedWriterPeriod)
	defer cancel()
	assert.Fails(t, compressOlder(patient, log), "compressed a file that is still being written")
	assert.Must(t, assert.ErrorOf(writer.WriteString(" and its end")))
	_ = writer.Close()
	assert.Must(t, compressOlder(t.Context(), log))
	text, err := Tail(log, 1<<10)
	want := "0.log.20260101-000001 and its end" + "0.log.20260101-000002" + "0.log"
	assert.True(t, err == nil && text == want, "log %q, %v, want %q", text, err, want)
}

// A compression writes and reads nothing outside the folder of logs, whatever a pod that
// has that folder as a hostPath puts in a file's place.
func TestCompressFollowsNoLinks(t *testing.T) {
	const secret = "secret of the machine"
	for name, link := range map[string]string{"read": "0.log.20260101-000001", "written": "0.log.20260101-000001.gz.tmp"} {
		t.Run(name, func(t *testing.T) {
			log := logWith(t, "0.log", "0.log.20260101-000001", "0.log.20260101-000002")
			dir, outside := filepath.Dir(log), filepath.Join(t.TempDir(), "outside")
			assert.Must(t, os.WriteFile(outside, []byte(secret), 0o600))
			if err := os.Remove(filepath.Join(dir, link)); err != nil && !errors.Is(err, os.ErrNotExist) {
				t.Fatal(err)
			}
			assert.Must(t, os.Symlink(outside, filepath.Join(dir, link)))
			err := compressOlder(t.Context(), log)
			assert.True(t, (err != nil) == (name == "read"), "compressed with %v", err)
			text, err := os.ReadFile(outside)
			assert.True(t, err == nil && string(text) == secret, "outside there is %q, %v", text, err)
			info, err := os.Lstat(log + ".20260101-000001.gz")
			made := err == nil
			assert.True(t, made == (name == "written") && (!made || info.Mode().IsRegular()), "compressed file: %v, %v", info, err)
		})
	}
}

// A named pipe in a log's place is reported, not waited for.
func TestCompressPipe(t *testing.T) {
	log := logWith(t, "0.log", "0.log.20260101-000002")
	assert.Must(t, unix.Mkfifo(log+".20260101-000001", 0o600))
	assert.ErrorContains(t, "is no regular file", compressOlder(t.Context(), log), "compressed")
}
