package podlog

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lifepod/lifepod/internal/assert"
)

// TestManyWatchers: one inotify instance serves all who watch, each hears of its
// own folder, and a name that is used again is another folder.
func TestManyWatchers(t *testing.T) {
	before := inotifies(t)
	type one struct {
		dir     string
		changed <-chan struct{}
		looked  chan string
	}
	var all []one
	join := func(dir string) func() {
		o := one{dir: dir, looked: make(chan string, 10)}
		var stop func()
		o.changed, stop = watch(dir, func() { o.looked <- "look" }, "0.log")
		all = append(all, o)
		return stop
	}
	first, second := t.TempDir(), t.TempDir()
	stops := []func(){join(first), join(first), join(second)}
	if got := inotifies(t) - before; got != 1 {
		t.Errorf("%d inotify instances, want 1", got)
	}
	write := func(path string) {
		assert.Must(t, os.WriteFile(path, []byte("x"), 0o600))
	}
	write(filepath.Join(first, "other"))
	<-all[0].changed
	<-all[1].changed
	write(filepath.Join(second, "0.log.2026"))
	<-all[2].looked
	<-all[2].changed
	if len(all[0].looked)+len(all[1].looked) != 0 {
		t.Error("looked for the file of another folder")
	}
	assert.Must(t, os.RemoveAll(second))
	assert.Must(t, os.Mkdir(second, 0o700))
	stops = append(stops, join(second))
	write(filepath.Join(second, "0.log"))
	<-all[3].looked
	folders.lost()
	<-all[0].looked
	for _, stop := range stops {
		stop()
		stop()
	}
	assert.Deep(t, "open watchers", before, inotifies(t))
}

func TestWatchLeavesNothing(t *testing.T) {
	before := inotifies(t)
	for range 3 {
		changed, stop := watch(filepath.Join(t.TempDir(), "missing"), func() {}, "0.log")
		<-changed
		stop()
	}
	assert.Deep(t, "open watchers", before, inotifies(t))
}

func inotifies(t *testing.T) (n int) {
	t.Helper()
	links, err := filepath.Glob("/proc/self/fd/*")
	assert.Must(t, err)
	for _, link := range links {
		if target, _ := os.Readlink(link); strings.Contains(target, "inotify") {
			n++
		}
	}
	return n
}
