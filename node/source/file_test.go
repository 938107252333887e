package source

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/lifepod/lifepod/internal/assert"
)

// runFile runs the source until the test ends; it looks after events only.
func runFile(t *testing.T, path string) (*recorder, *textLog) {
	feed, log := newRecorder(), &textLog{}
	assert.Runs(t, (&File{Objects: &Objects{}, Path: path, NodeName: "n", Period: 24 * time.Hour, Feed: feed, Log: log.logger()}).Run)
	return feed, log
}

func put(t *testing.T, path, text string) {
	t.Helper()
	assert.Must(t, os.WriteFile(path, []byte(text), 0o600))
}

// wantImage waits until exactly one pod runs, from that image.
func wantImage(t *testing.T, feed *recorder, step, image string) {
	t.Helper()
	feed.until(t, step, func() bool {
		feed.mu.Lock()
		defer feed.mu.Unlock()
		for _, pod := range feed.pods {
			if len(feed.pods) == 1 && pod.Spec.Containers[0].Image == image {
				return true
			}
		}
		return image == "" && len(feed.pods) == 0 && len(feed.lines) > 0
	})
}

// TestFileEvents: whatever becomes of the path is seen by inotify alone (B-STA-1).
func TestFileEvents(t *testing.T) {
	pod := func(image string) string { return manifestOf("a", image, "") }
	for _, tc := range []struct {
		name string
		path string // below a folder that is there
		do   func(t *testing.T, dir string, feed *recorder)
	}{
		{"folder that comes, goes and comes", "x/y", func(t *testing.T, dir string, feed *recorder) {
			wantImage(t, feed, "nothing", "")
			assert.Must(t, os.MkdirAll(dir+"/x/y", 0o700))
			put(t, dir+"/x/y/a", pod("1"))
			wantImage(t, feed, "comes", "1")
			assert.Must(t, os.Rename(dir+"/x/y", dir+"/x/z"))
			wantImage(t, feed, "moved away", "")
			assert.Must(t, os.Mkdir(dir+"/x/y", 0o700))
			put(t, dir+"/x/y/a", pod("2"))
			wantImage(t, feed, "comes again", "2")
			assert.Must(t, os.RemoveAll(dir+"/x"))
			wantImage(t, feed, "removed", "")
			assert.Must(t, os.MkdirAll(dir+"/x/y", 0o700))
			put(t, dir+"/x/y/a", pod("3"))
			wantImage(t, feed, "comes a third time", "3")
		}},
		{"single file", "a.yaml", func(t *testing.T, dir string, feed *recorder) {
			put(t, dir+"/a.yaml", pod("1"))
			wantImage(t, feed, "written", "1")
			put(t, dir+"/new", pod("2"))
			assert.Must(t, os.Rename(dir+"/new", dir+"/a.yaml"))
			wantImage(t, feed, "renamed over", "2")
			assert.Must(t, os.Rename(dir+"/a.yaml", dir+"/a.yaml~"))
			put(t, dir+"/a.yaml", pod("3"))
			wantImage(t, feed, "as an editor does", "3")
			assert.Must(t, os.Remove(dir+"/a.yaml"))
			wantImage(t, feed, "removed", "")
			assert.Must(t, os.Mkdir(dir+"/a.yaml", 0o700))
			put(t, dir+"/a.yaml/b", pod("4"))
			wantImage(t, feed, "a folder now", "4")
		}},
		{"link to a folder", "link", func(t *testing.T, dir string, feed *recorder) {
			assert.Must(t, os.Mkdir(dir+"/1", 0o700), os.Mkdir(dir+"/2", 0o700))
			put(t, dir+"/1/a", pod("1"))
			put(t, dir+"/2/a", pod("2"))
			assert.Must(t, os.Symlink("1", dir+"/link"))
			wantImage(t, feed, "linked", "1")
			assert.Must(t, os.Symlink("2", dir+"/new"), os.Rename(dir+"/new", dir+"/link"))
			wantImage(t, feed, "swapped", "2")
			put(t, dir+"/2/a", pod("3"))
			wantImage(t, feed, "changed behind the link", "3")
			assert.Must(t, os.Remove(dir+"/link"))
			wantImage(t, feed, "unlinked", "")
		}},
		{"files linked as in a ConfigMap volume", "", func(t *testing.T, dir string, feed *recorder) {
			assert.Must(t, os.Mkdir(dir+"/..1", 0o700), os.Mkdir(dir+"/..2", 0o700))
			put(t, dir+"/..1/a", pod("1"))
			put(t, dir+"/..2/a", pod("2"))
			assert.Must(t, os.Symlink("..1", dir+"/..data"), os.Symlink("..data/a", dir+"/a"))
			wantImage(t, feed, "linked", "1")
			assert.Must(t, os.Symlink("..2", dir+"/..tmp"), os.Rename(dir+"/..tmp", dir+"/..data"))
			wantImage(t, feed, "swapped", "2")
		}},
		{"link to a file elsewhere", "in", func(t *testing.T, dir string, feed *recorder) {
			assert.Must(t, os.Mkdir(dir+"/in", 0o700), os.Mkdir(dir+"/else", 0o700), os.Symlink(dir+"/else/file", dir+"/in/a"))
			wantImage(t, feed, "to nothing", "")
			put(t, dir+"/else/file", pod("1"))
			wantImage(t, feed, "written", "1")
			put(t, dir+"/else/new", pod("2"))
			assert.Must(t, os.Rename(dir+"/else/new", dir+"/else/file"))
			wantImage(t, feed, "replaced", "2")
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			feed, log := runFile(t, filepath.Join(dir, tc.path))
			tc.do(t, dir, feed)
			if t.Failed() {
				t.Log(log)
			}
		})
	}
}

// TestFileRapidChanges: of many changes the last one counts (B-STA-6).
func TestFileRapidChanges(t *testing.T) {
	dir := t.TempDir()
	feed, _ := runFile(t, dir)
	for i := range 300 {
		image := "i"
		if i == 299 {
			image = "last"
		}
		put(t, dir+"/a.yaml", manifestOf("a", image+string(rune('a'+i%26)), ""))
	}
	wantImage(t, feed, "the last one", "last"+string(rune('a'+299%26)))
}
