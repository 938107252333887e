package source

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/lifepod/lifepod/manifest"
	"github.com/lifepod/lifepod/roster"
)

// How long a file may be on its way before its state is taken for what is meant.
const (
	goneAfter    = 100 * time.Millisecond // an editor that replaces a file may remove it first
	settledAfter = 30 * time.Millisecond  // two changes within it may look the same
	writingUntil = 5 * time.Second        // a writer that has it open for longer has forgotten to close it
)

// folder is what File knows of its files.
type folder struct {
	source   *File
	pods     *staticPods
	ignored  duplicates
	files    map[string]*file
	places   map[types.NamespacedName]string // which file each pod is in
	problems map[string]string               // told, by file; "" for the path itself
	heard    bool
}

func newFolder(f *File) *folder {
	return &folder{
		source: f, pods: newStaticPods(roster.File, f.Feed), ignored: duplicates{origin: roster.File, record: f.Record},
		files: map[string]*file{}, problems: map[string]string{},
	}
}

// look takes the files as they are now. It says how soon it is to look again, 0 if only after a change.
func (d *folder) look(ctx context.Context, now time.Time) (soon time.Duration) {
	listed, found, err := list(d.source.Path)
	if err != nil {
		d.tell("", err.Error())
		return 0 // what is there is not known: everything stays as it is
	}
	d.tell("", "")
	again := func(after time.Duration) {
		if soon == 0 || after < soon {
			soon = after
		}
	}
	pending := false
	for _, path := range listed {
		if d.files[path] == nil {
			d.files[path] = &file{path: path}
		}
		f := d.files[path]
		if after := f.read(now, manifest.StaticOptions{NodeName: d.source.NodeName, Strict: d.source.Strict}); after > 0 {
			again(after)
			pending = pending || f.unread
		}
		f.gone = time.Time{}
	}
	for path, f := range d.files {
		if slices.Contains(listed, path) {
			continue
		}
		if f.gone.IsZero() {
			f.gone = now
		}
		if left := goneAfter - now.Sub(f.gone); left > 0 && f.set != nil {
			again(left)
		} else {
			delete(d.files, path)
			d.tell(path, "")
		}
	}
	d.apply(ctx, found)
	if !d.heard && !pending {
		d.heard = true
		d.source.Feed.Heard(roster.File)
	}
	return soon
}

// apply hands over what the files want together; problems are those of listing them.
func (d *folder) apply(ctx context.Context, problems map[string]string) {
	files := slices.SortedFunc(maps.Values(d.files), inOrder)
	m := merged(files, d.pods.wanted, d.places)
	d.places = m.places
	for _, f := range files {
		if f.err != nil {
			m.problem(f, f.problem())
		}
		d.tell(f.path, strings.Join(m.problems[f.path], "\n"))
		for _, w := range f.warnings() {
			d.source.Log.WarnContext(ctx, w)
		}
	}
	for path, problem := range problems {
		d.tell(path, problem)
	}
	for path := range d.problems {
		if d.files[path] == nil && problems[path] == "" {
			d.tell(path, "")
		}
	}
	d.ignored.become(m.duplicates)
	d.source.apply(m, d.pods)
}

// inOrder has the files in the order of their names, and behind them those that are
// gone: a file that gets another name is no second one that has the same pod.
func inOrder(a, b *file) int {
	if a.gone.IsZero() != b.gone.IsZero() {
		return cmp.Compare(a.gone.Unix(), b.gone.Unix())
	}
	return strings.Compare(a.path, b.path)
}

// tell logs what is wrong with a file when that changes.
func (d *folder) tell(path, problem string) {
	if d.problems[path] == problem {
		return
	}
	if problem == "" {
		delete(d.problems, path)
		d.source.Log.Info("static pods: the file is valid again", "path", shown(d.source.Path, path))
		return
	}
	d.problems[path] = problem
	d.source.Log.Error("static pods: "+problem, "path", shown(d.source.Path, path))
}

func shown(root, path string) string {
	if path == "" {
		return root
	}
	return path
}

// list names the files at a path, sorted; none if there is nothing. Those that can't be static pods
// are named with the reason.
func list(path string) (files []string, problems map[string]string, err error) {
	path = strings.TrimRight(path, string(filepath.Separator)) // as upstream, whose UIDs have the path in them
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil, nil
	case err != nil:
		return nil, nil, fmt.Errorf("read static pods: %w", err)
	case info.Mode().IsRegular():
		return []string{path}, nil, nil
	case !info.IsDir():
		return nil, nil, fmt.Errorf("read static pods: %s is neither a folder nor a file", path)
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, nil, fmt.Errorf("read static pods: %w", err)
	}
	problems = map[string]string{}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") {
			continue
		}
		name := filepath.Join(path, e.Name())
		info, err := os.Stat(name)
		switch {
		case errors.Is(err, fs.ErrNotExist): // a link to nothing, or gone since
		case err != nil, info.Mode().IsRegular():
			files = append(files, name)
		case info.IsDir():
			problems[name] = "it is a folder: static pods are read from the files of one folder only"
		default:
			problems[name] = "it is no file"
		}
	}
	return files, problems, nil
}

// file is a file of the folder, and what was made of it last.
type file struct {
	path     string
	version  version
	content  [32]byte            // SHA-256
	set      *manifest.StaticSet // the last good one
	err      error               // why what is there now is not it
	reported *manifest.StaticSet // whose warnings were reported
	gone     time.Time           // since when it isn't there
	writing  time.Time           // since when somebody writes it
	unread   bool                // it has never been read to its end
}

// problem is the error of what is there now.
func (f *file) problem() string {
	if f.set == nil {
		return f.err.Error()
	}
	return f.err.Error() + "\nwhat was read of it before stays in use"
}

// warnings are those that nobody was told yet.
func (f *file) warnings() []string {
	if f.set == nil || f.reported == f.set {
		return nil
	}
	f.reported = f.set
	return f.set.Warnings
}
