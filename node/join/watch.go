package join

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/lifepod/lifepod/internal/pathwatch"
)

// settle is how long nothing must happen to files that are being replaced, often
// several of them together, before they are read.
const settle = 200 * time.Millisecond

// watch calls changed, from one goroutine, when one of files may have changed, until
// ctx ends, and once at its start. Files may change from one call to the next.
func watch(ctx context.Context, log *slog.Logger, files func() []string, changed func()) {
	watcher := pathwatch.New(func(_ context.Context, err error) {
		if err != nil {
			log.Error("files of credentials cannot be watched: changes count from the next start", "err", err)
		}
	})
	defer watcher.Close()
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for ctx.Err() == nil {
		followed := files()
		watcher.Follow(ctx, followed...)
		changed()
		if !slices.Equal(files(), followed) {
			continue
		}
		timer.Stop()
		for waiting := true; waiting; {
			select {
			case <-ctx.Done():
				return
			case <-watcher.Changed:
				timer.Reset(settle)
			case <-timer.C:
				waiting = false
			}
		}
	}
}
