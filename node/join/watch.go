package join

import (
	"context"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"
)

// settle is how long nothing must happen to files that are being replaced, often
// several of them together, before they are read.
const settle = 200 * time.Millisecond

// watch calls changed, from one goroutine, when one of files may have changed, until
// ctx ends. It watches the folders of the files and of what they are links to, since
// files are replaced rather than written. Files may change from one call to the next.
func watch(ctx context.Context, log *slog.Logger, files func() []string, changed func()) {
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		log.Error("files of credentials cannot be watched: changes count from the next start", "err", err)
		<-ctx.Done()
		return
	}
	defer func() { _ = watcher.Close() }()
	timer := time.NewTimer(time.Hour)
	timer.Stop()
	defer timer.Stop()
	watched := addFolders(watcher, log, files())
	changed() // between the reading of the files and now they may have changed
	for {
		select {
		case <-ctx.Done():
			return
		case event, open := <-watcher.Events:
			if open && watched[event.Name] {
				timer.Reset(settle)
			}
		case err := <-watcher.Errors:
			log.Warn("can't watch the files of credentials", "err", err)
			timer.Reset(settle) // events may be lost
		case <-timer.C:
			changed()
			watched = addFolders(watcher, log, files())
		}
	}
}

// addFolders watches where files are, and gives the names whose events count.
func addFolders(watcher *fsnotify.Watcher, log *slog.Logger, files []string) map[string]bool {
	watched := map[string]bool{}
	for _, file := range files {
		for _, name := range chain(file) {
			watched[name] = true
			if err := watcher.Add(filepath.Dir(name)); err != nil {
				log.Warn("folder of credentials cannot be watched", "folder", filepath.Dir(name), "err", err)
			}
		}
	}
	return watched
}
