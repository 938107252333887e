package devices

import (
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
	registerapi "k8s.io/kubelet/pkg/apis/pluginregistration/v1"

	"github.com/lifepod/lifepod/internal/pathwatch"
)

// PluginHandler is the part of the agent that uses plugins of one type. Calls about plugins of
// different sockets come side by side.
type PluginHandler interface {
	// Validate says whether a plugin that gives itself this name may register. versions are
	// those that it speaks of the API of its type; endpoint is the socket that serves it.
	Validate(name, endpoint string, versions []string) error
	// Register takes a plugin into use that Validate has accepted. It is tried again, after
	// Validate, when it fails, and when another socket has taken the place of the plugin's:
	// a plugin that has restarted is registered anew without Deregister if it goes by the
	// same name and endpoint as before.
	Register(ctx context.Context, name, endpoint string, versions []string) error
	// Deregister says that the socket of a plugin is gone. It may come for one that is not
	// registered, as Register has failed.
	Deregister(name, endpoint string)
}

// PluginWatcher finds sockets in a folder and everywhere below it. Use NewPluginWatcher.
type PluginWatcher struct {
	folder   string
	handlers map[string]PluginHandler
	log      *slog.Logger

	sockets map[string]*socket // by path
	running sync.WaitGroup
}

// Types of plugins.
const (
	DevicePlugin = registerapi.DevicePlugin
	ClaimPlugin  = registerapi.DRAPlugin
	VolumePlugin = registerapi.CSIPlugin
)

// NewPluginWatcher is a watcher that gives plugins to the handler of their type.
func NewPluginWatcher(folder string, handlers map[string]PluginHandler, log *slog.Logger) *PluginWatcher {
	return &PluginWatcher{folder: folder, handlers: handlers, log: log, sockets: map[string]*socket{}}
}

// Run makes the folder and registers its plugins until ctx ends. They are not deregistered
// then: the next agent finds them again.
func (w *PluginWatcher) Run(ctx context.Context) error {
	if err := os.MkdirAll(w.folder, 0o750); err != nil {
		return fmt.Errorf("folder of plugins: %w", err)
	}
	watch := pathwatch.New(func(ctx context.Context, err error) {
		if err != nil {
			w.log.WarnContext(ctx, "watch the folder of plugins", "folder", w.folder, "err", err)
		}
	})
	defer watch.Close()
	defer w.running.Wait()
	folders := []string{w.folder}
	for {
		watch.Follow(ctx, folders...)
		found, now := w.look(ctx)
		if !slices.Equal(now, folders) { // what is in a new one may have come before the watch
			folders = now
			continue
		}
		w.update(ctx, found)
		select {
		case <-ctx.Done():
			return nil
		case <-watch.Changed:
		}
	}
}

// identity tells a socket from another one of the same path.
type identity struct {
	device, inode uint64
	born          unix.StatxTimestamp // or last changed, on a file system that doesn't know
}

// look finds the sockets, and the folders in which more may appear. What starts with a dot
// is not for us (A-PLUG-1).
func (w *PluginWatcher) look(ctx context.Context) (map[string]identity, []string) {
	sockets, folders := map[string]identity{}, []string{}
	_ = filepath.WalkDir(w.folder, func(path string, entry fs.DirEntry, err error) error {
		hidden := path != w.folder && strings.HasPrefix(filepath.Base(path), ".")
		switch {
		case err != nil: // it is gone meanwhile, or can't be read
			w.log.DebugContext(ctx, "look for plugins", "path", path, "err", err)
		case hidden && entry.IsDir():
			return fs.SkipDir
		case hidden:
		case entry.IsDir():
			folders = append(folders, path)
		case entry.Type() == fs.ModeSocket:
			if id, there := identify(path); there {
				sockets[path] = id
			}
		}
		return nil
	})
	if len(folders) == 0 { // somebody has removed it, and may make it again
		folders = []string{w.folder}
	}
	return sockets, folders
}

func identify(path string) (identity, bool) {
	var stat unix.Statx_t
	err := unix.Statx(unix.AT_FDCWD, path, unix.AT_SYMLINK_NOFOLLOW, unix.STATX_INO|unix.STATX_CTIME|unix.STATX_BTIME, &stat)
	if err != nil {
		return identity{}, false
	}
	id := identity{device: uint64(stat.Dev_major)<<32 | uint64(stat.Dev_minor), inode: stat.Ino, born: stat.Ctime}
	if stat.Mask&unix.STATX_BTIME != 0 {
		id.born = stat.Btime
	}
	return id, true
}

// update begins what new, replaced and missing sockets ask for.
func (w *PluginWatcher) update(ctx context.Context, found map[string]identity) {
	for path, s := range w.sockets {
		switch {
		case s.is == found[path]:
		case s.is == identity{} && len(s.left) > 0:
			delete(w.sockets, path)
		default:
			w.replace(ctx, path, found[path])
		}
	}
	for path, id := range found {
		if w.sockets[path] == nil {
			w.replace(ctx, path, id)
		}
	}
}

// replace ends what is under way for the socket that was at a path before, and begins with
// the one that is there now; with none, its plugin is deregistered.
func (w *PluginWatcher) replace(ctx context.Context, path string, now identity) {
	before := w.sockets[path]
	if before != nil {
		before.end()
	}
	ctx, end := context.WithCancel(ctx)
	s := &socket{is: now, end: end, left: make(chan pluginRegistration, 1)}
	w.sockets[path] = s
	w.running.Go(func() {
		defer end()
		var was pluginRegistration
		if before != nil {
			was = <-before.left
		}
		s.left <- w.serve(ctx, path, now, was)
	})
}
