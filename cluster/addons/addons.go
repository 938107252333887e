package addons

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typed "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/record"

	"github.com/lifepod/lifepod/internal/mailbox"
	"github.com/lifepod/lifepod/internal/pathwatch"
)

type Config struct {
	Folders []string // those that are not there have no files, and are reported
	// Several says that other servers may have other files: what this one has not seen
	// in its folders is not deleted.
	Several bool

	Client  kubernetes.Interface
	Dynamic dynamic.Interface
	Mapper  meta.ResettableRESTMapper
	Log     *slog.Logger
}

// requestTimeout is how long one request may take: a webhook that hangs is not to
// keep other files from being applied.
const requestTimeout = 30 * time.Second

type loop struct {
	Config
	files    map[string]*file
	troubles map[string]string // of folders, reported
	known    bool              // what the cluster has of files that are gone has been looked up
	recorder record.EventRecorder
}

// Run keeps the cluster in step with the folders until ctx ends.
func Run(ctx context.Context, c Config) error {
	for i, dir := range c.Folders {
		absolute, err := filepath.Abs(dir)
		if err != nil {
			return fmt.Errorf("folder of add-ons %q: %w", dir, err)
		}
		c.Folders[i] = absolute
	}
	broadcaster := record.NewBroadcaster(record.WithContext(ctx))
	defer broadcaster.Shutdown()
	broadcaster.StartRecordingToSink(&typed.EventSinkImpl{Interface: c.Client.CoreV1().Events("")})
	l := &loop{
		Config: c, files: map[string]*file{}, troubles: map[string]string{},
		recorder: broadcaster.NewRecorder(scheme.Scheme, v1.EventSource{Component: fieldManager}),
		known:    c.Several,
	}
	changed := mailbox.NewSignal()
	var watching sync.WaitGroup
	defer watching.Wait()
	for _, dir := range c.Folders {
		watching.Go(func() { c.watch(ctx, dir, changed) })
	}
	for ctx.Err() == nil {
		timer := time.NewTimer(l.look(ctx, time.Now()))
		select {
		case <-ctx.Done():
		case <-changed:
		case <-timer.C:
		}
		timer.Stop()
	}
	return nil
}

func (c Config) watch(ctx context.Context, dir string, changed mailbox.Signal) {
	w := pathwatch.New(func(ctx context.Context, err error) {
		if err != nil {
			c.Log.WarnContext(ctx, "inotify can't watch the folder of add-ons", "folder", dir, "err", err)
		}
	})
	defer w.Close()
	for {
		w.Follow(ctx, dir)
		changed.Send()
		select {
		case <-ctx.Done():
			return
		case <-w.Changed:
		}
	}
}

// seldom is the next look when nothing is to be done: never, in practice.
const seldom = 24 * time.Hour

// look reads what has changed and applies what is due. It says how soon it wants to
// look again.
func (l *loop) look(ctx context.Context, now time.Time) time.Duration {
	soon := seldom
	if !l.known {
		if err := l.remember(ctx); err != nil {
			l.Log.Warn("add-ons", "err", err)
			return retryFirst
		}
	}
	listed := l.list()
	for path := range listed {
		if l.files[path] == nil {
			l.files[path] = &file{path: path}
		}
		f := l.files[path]
		f.gone = time.Time{}
		if again := f.read(now); again > 0 {
			soon = min(soon, again)
		}
	}
	live := liveIDs(listed)
	for path, f := range l.files {
		if listed[path] && f.writing.IsZero() {
			soon = min(soon, l.bring(ctx, f, live))
		}
	}
	// Last: what has moved to another file belongs to that by now.
	for path, f := range l.files {
		if !listed[path] && l.readable(filepath.Dir(path)) {
			soon = min(soon, l.remove(ctx, f, now, live))
		}
	}
	return soon
}

// remember adds the files of which the cluster has objects, so that those that went
// while nobody looked are found to be gone.
func (l *loop) remember(ctx context.Context) error {
	recorded, err := List(ctx, l.Client)
	if err != nil {
		return err
	}
	for _, s := range recorded {
		l.files[s.File] = &file{path: s.File}
	}
	l.known = true
	return nil
}

// list names the files of all folders, and reports folders that can't be read.
func (l *loop) list() map[string]bool {
	listed := map[string]bool{}
	troubles := map[string]string{}
	for _, dir := range l.Folders {
		paths, err := list(dir)
		for _, path := range paths {
			listed[path] = true
		}
		if err == nil {
			continue
		}
		troubles[dir] = err.Error()
		if l.troubles[dir] != err.Error() {
			l.Log.Error("add-ons: nothing of this folder is applied or deleted", "folder", dir, "err", err)
		}
	}
	l.troubles = troubles
	return listed
}

// readable says whether a folder is one of ours, and it is known what is in it.
func (l *loop) readable(dir string) bool {
	for _, d := range l.Folders {
		if d == dir {
			return l.troubles[d] == ""
		}
	}
	return false
}

func liveIDs(listed map[string]bool) map[string]bool {
	live := map[string]bool{}
	for path := range listed {
		live[setID(parentName(path))] = true
	}
	return live
}
