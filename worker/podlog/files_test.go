package podlog

import (
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/internal/assert"
)

// TestFilesRotatedUnseen: each file is returned once, also if the log was
// rotated more often than once between two looks, and it is known when one may
// have been removed unseen (B-LOG-1).
func TestFilesRotatedUnseen(t *testing.T) {
	for _, test := range []struct {
		name     string
		then     []string // the folder at the second look: file=content; the first file is the log with "1"
		want     []string
		wantMiss bool
	}{
		{"not rotated", []string{"0.log=1"}, nil, false},
		{"once", []string{"0.log.20260101-000001=1", "0.log=2"}, []string{"2"}, false},
		{"twice", []string{"0.log.20260101-000001.gz=1", "0.log.20260101-000002=2", "0.log=3"}, []string{"2", "3"}, false},
		{"removed", []string{"0.log.20260101-000002=2", "0.log=3"}, []string{"2", "3"}, true},
		{"removed and compressed", []string{"0.log.20260101-000002.gz=2", "0.log.20260101-000003=3", "0.log=4"}, []string{"2", "3", "4"}, true},
		{"removed by somebody", []string{"0.log=2"}, []string{"2"}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "0.log")
			put(t, path, "1")
			f := NewFiles(path)
			defer f.Close()
			diff := cmp.Diff([]string{"1"}, look(t, f))
			assert.Require(t, diff == "", "first look (-want +got):\n%s", diff)
			for _, file := range test.then {
				name, text, _ := strings.Cut(file, "=")
				at := filepath.Join(filepath.Dir(path), name)
				if text == "1" && !strings.HasSuffix(name, Compressed) {
					assert.Must(t, os.Rename(path, at))
					continue
				}
				_ = os.Remove(path) // the container writes on in the next one
				put(t, at, text)
			}
			assert.Deep(t, "second look", test.want, look(t, f))
			assert.Equal(t, test.wantMiss, f.Missed(), "missed")
		})
	}
}

func put(t *testing.T, path, text string) {
	t.Helper()
	var data strings.Builder
	data.WriteString(text)
	if strings.HasSuffix(path, Compressed) {
		data.Reset()
		packed := gzip.NewWriter(&data)
		assert.Must(t, assert.ErrorOf(packed.Write([]byte(text))))
		assert.Must(t, packed.Close())
	}
	assert.Must(t, os.WriteFile(path, []byte(data.String()), 0o600))
}

// look is the content of the files that are new.
func look(t *testing.T, f *Files) (texts []string) {
	t.Helper()
	files := assert.Get(f.Look()).Must(t)
	for _, file := range files {
		text := assert.Get(io.ReadAll(file)).Must(t)
		texts = append(texts, string(text))
		_ = file.File.Close()
	}
	return texts
}

// A file that can't be opened is missing from what is read, and that is known.
func TestFilesThatCantBeOpened(t *testing.T) {
	for name, damaged := range map[string]string{"the first": ".20260101-000001.gz", "another": ".20260101-000002.gz"} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "0.log")
			put(t, path, "1")
			f := NewFiles(path)
			defer f.Close()
			look(t, f)
			assert.Must(t, os.Remove(path))
			put(t, path+".20260101-000001.gz", "1")
			put(t, path+".20260101-000002.gz", "2")
			assert.Must(t, os.WriteFile(path+damaged, []byte("not compressed"), 0o600))
			put(t, path, "3")
			got := look(t, f)
			assert.True(t, got[len(got)-1] == "3" && f.Missed(), "read %q, missed %v", got, f.Missed())
		})
	}
}

// Nothing outside the folder of logs is read, whatever a pod that has that folder as a hostPath puts in a file's
// place, and nothing waits for a named pipe's writer.
func TestFilesThatAreNone(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "outside")
	put(t, outside, "secret of the machine")
	for kind, make := range map[string]func(path string) error{
		"link": func(path string) error { return os.Symlink(outside, path) },
		"pipe": func(path string) error { return unix.Mkfifo(path, 0o600) },
	} {
		for _, name := range []string{"0.log", "0.log.20260101-000001"} {
			t.Run(kind+" "+name, func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "0.log")
				if name != "0.log" {
					put(t, path, "1")
				}
				assert.Must(t, make(filepath.Join(filepath.Dir(path), name)))
				f := NewFiles(path)
				defer f.Close()
				files, err := f.Look()
				if name == "0.log" && (err == nil || !strings.Contains(err.Error(), "is no regular file")) || name != "0.log" && !f.Missed() {
					t.Errorf("got %v, missed %v", err, f.Missed())
				}
				for _, file := range files {
					text, _ := io.ReadAll(file)
					assert.True(t, string(text) == "1", "read %q", text)
					_ = file.File.Close()
				}
				text, err := Tail(path, 100)
				assert.True(t, err != nil && !strings.Contains(text, "secret"), "the end of it is %q, %v", text, err)
			})
		}
	}
}

// TestInstances: a container has ended twice. It runs, waits, or is about to start: each time another instance's log is meant.
func TestInstances(t *testing.T) {
	ended := v1.ContainerState{Terminated: &v1.ContainerStateTerminated{ExitCode: 1, ContainerID: "containerd://second"}}
	waiting := v1.ContainerState{Waiting: &v1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}
	running := v1.ContainerState{Running: &v1.ContainerStateRunning{}}
	for _, tc := range []struct {
		name      string
		id        string
		restarts  int32
		now, last v1.ContainerState
		previous  bool
		want      []int
	}{
		{"runs", "containerd://third", 2, running, ended, false, []int{2}},
		{"runs, the one before", "containerd://third", 2, running, ended, true, []int{1}},
		{"waits", "containerd://second", 1, waiting, ended, false, []int{1, 0}},
		{"waits, the last one", "containerd://second", 1, waiting, ended, true, []int{1, 0}},
		{"is removed, the last one", "", 1, waiting, ended, true, []int{1, 0}},
		{"is created, the one before", "containerd://third", 2, waiting, ended, true, []int{1}},
	} {
		pod := &v1.Pod{Status: v1.PodStatus{ContainerStatuses: []v1.ContainerStatus{{
			Name: "main", ContainerID: tc.id, RestartCount: tc.restarts, State: tc.now, LastTerminationState: tc.last,
		}}}}
		got, err := Instances(pod, "main", tc.previous)
		diff := cmp.Diff(tc.want, got)
		assert.True(t, err == nil && diff == "", "%s: %v (-want +got):\n%s", tc.name, err, diff)
	}
}
