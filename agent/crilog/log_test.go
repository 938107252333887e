package crilog

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fsnotify/fsnotify"
	"github.com/google/go-cmp/cmp"
)

func TestChanges(t *testing.T) {
	events, errs := make(chan fsnotify.Event), make(chan error)
	var seen []string
	changed := changes(events, errs,
		func(e fsnotify.Event) { seen = append(seen, e.Name) }, func() { seen = append(seen, "lost") })
	for range 3 {
		errs <- errors.New("queue overflow") // nobody has to be listening
	}
	<-changed
	events <- fsnotify.Event{Name: "log"}
	<-changed
	close(errs)
	<-changed
	close(events)
	if diff := cmp.Diff([]string{"lost", "lost", "lost", "log"}, seen[:4]); diff != "" {
		t.Errorf("looks (-want +got):\n%s", diff)
	}
}

func TestWatchLeavesNothing(t *testing.T) {
	before := inotifies(t)
	for range 3 {
		changed, stop := watch(filepath.Join(t.TempDir(), "missing"), func() {}, "0.log")
		<-changed
		stop()
	}
	if diff := cmp.Diff(before, inotifies(t)); diff != "" {
		t.Errorf("open watchers (-want +got):\n%s", diff)
	}
}

func inotifies(t *testing.T) (n int) {
	t.Helper()
	links, err := filepath.Glob("/proc/self/fd/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, link := range links {
		if target, _ := os.Readlink(link); strings.Contains(target, "inotify") {
			n++
		}
	}
	return n
}
