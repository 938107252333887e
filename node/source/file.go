package source

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lifepod/lifepod/internal/pathwatch"
	"github.com/lifepod/lifepod/manifest"
	"github.com/lifepod/lifepod/roster"
)

// File is the source of static pods of a folder, or of a single file (staticPodPath; B-STA-1, B-STA-2):
// every file of the folder but those whose name begins with a dot, and no folder in it. Changes are seen
// at once, by inotify, and every Period, where there is no inotify.
//
// What can't be used keeps what it was: a file that is there and can't be read, or makes no sense, or is
// being written, never ends a pod that runs from it; a file that is gone does. A folder that isn't there is
// one without files.
//
// ConfigMaps and Secrets in these files are for these pods; of two objects of one name that of the
// first file counts. A pod that lacks one begins when it has come.
type File struct {
	*Objects // those of the files
	// Path is a folder or a file; it need not exist, and may become another.
	Path     string
	NodeName string
	// Strict refuses fields that a Pod does not have; else they are warnings, because a kubelet ignores them.
	Strict bool
	// Period is the time between two looks without an event (fileCheckFrequency); 0 is DefaultPeriod.
	Period time.Duration
	Feed   Feed
	// ObjectsChanged is told of ConfigMaps and Secrets of a namespace whose content has changed, after the
	// change and before the pods that use them are Wanted again; nil if nobody wants to know.
	ObjectsChanged func(namespace string, names []string)
	Record         Record // nil if nobody wants to know
	Log            *slog.Logger
}

// DefaultPeriod is the kubelet's fileCheckFrequency and httpCheckFrequency.
const DefaultPeriod = 20 * time.Second

// Run tells the Feed until ctx ends.
func (f *File) Run(ctx context.Context) {
	look := newFolder(f)
	inotify := outage{log: f.Log, what: "watching the folder of static pods by inotify"}
	watch := pathwatch.New(inotify.tell)
	defer watch.Close()
	for ctx.Err() == nil {
		watch.Follow(ctx, f.Path)
		pause := cmp.Or(f.Period, DefaultPeriod)
		if soon := look.look(ctx, time.Now()); soon > 0 {
			pause = min(pause, soon)
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
		case <-watch.Changed:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// merge is what all files together want.
type merge struct {
	objects    *objects
	pods       []*v1.Pod
	places     map[types.NamespacedName]string // which file each of them is in
	duplicates []*v1.Pod
	problems   map[string][]string // by file
}

// filePod is a pod of a file.
type filePod struct {
	file *file
	pod  *v1.Pod
}

// merged puts the files together, in the order of their names. A name that two files use stays with the one that has had it
// (places), so that a new file never ends a pod that runs. A pod that lacks something stays what it is, if it is wanted already.
func merged(files []*file, wanted map[types.NamespacedName]*v1.Pod, places map[types.NamespacedName]string) merge {
	m := merge{objects: newObjects(), problems: map[string][]string{}}
	for _, f := range files {
		if f.set != nil {
			m.addObjects(f)
		}
	}
	configMaps, secrets := m.objects.list()
	var had, others []filePod
	for _, f := range files {
		if f.set == nil {
			continue
		}
		for _, pod := range f.set.Pods {
			if f.gone.IsZero() && places[nameOf(pod)] == f.path {
				had = append(had, filePod{f, pod})
			} else {
				others = append(others, filePod{f, pod})
			}
		}
	}
	unique := newUnique()
	for _, p := range append(had, others...) {
		f, pod := p.file, p.pod
		if err := unique.join(pod, f.path); err != nil {
			m.ignore(f, pod, err)
			continue
		}
		if err := manifest.Unsatisfied(pod, configMaps, secrets); err != nil {
			m.problem(f, "pod "+pod.Name+": "+err.Error())
			if pod = wanted[nameOf(pod)]; pod == nil {
				continue
			}
		}
		m.pods = append(m.pods, pod)
	}
	m.places = unique.names
	return m
}

// ignore leaves out a pod, which doesn't go together with those before it.
func (m *merge) ignore(f *file, pod *v1.Pod, why error) {
	m.problem(f, why.Error())
	if errors.As(why, &nameTaken{}) && f.gone.IsZero() {
		m.duplicates = append(m.duplicates, pod)
	}
}

func (m *merge) problem(f *file, text string) {
	if !f.gone.IsZero() {
		return // nobody can mend it
	}
	m.problems[f.path] = append(m.problems[f.path], text)
}

func (m *merge) addObjects(f *file) {
	for _, c := range f.set.ConfigMaps {
		name := types.NamespacedName{Namespace: c.Namespace, Name: c.Name}
		if m.objects.configMaps[name] != nil {
			m.problem(f, "ConfigMap "+name.String()+" is in another file already, which counts")
			continue
		}
		m.objects.configMaps[name] = c
	}
	for _, s := range f.set.Secrets {
		name := types.NamespacedName{Namespace: s.Namespace, Name: s.Name}
		if m.objects.secrets[name] != nil {
			m.problem(f, "Secret "+name.String()+" is in another file already, which counts")
			continue
		}
		m.objects.secrets[name] = s
	}
}

// apply makes what was merged the current state, and tells.
func (f *File) apply(m merge, pods *staticPods) {
	before := f.current.Swap(m.objects)
	if before == nil {
		before = newObjects()
	}
	wantedBefore := pods.wanted
	pods.become(m.pods)
	changed := before.changesTo(m.objects)
	if len(wantedBefore) == 0 || len(changed) == 0 {
		return // nobody has used them
	}
	f.tellChanged(changed)
	for name, pod := range pods.wanted {
		if wantedBefore[name] == pod && slices.ContainsFunc(changed, func(c changedObject) bool {
			return c.Namespace == pod.Namespace && manifest.Uses(pod, c.kind, c.Name)
		}) {
			f.Feed.Wanted(roster.File, pod)
		}
	}
}

func (f *File) tellChanged(changed []changedObject) {
	if f.ObjectsChanged == nil {
		return
	}
	names := map[string][]string{}
	for _, c := range changed {
		names[c.Namespace] = append(names[c.Namespace], c.Name)
	}
	for namespace, list := range names {
		slices.Sort(list)
		f.ObjectsChanged(namespace, slices.Compact(list))
	}
}

// maxManifestBytes is the kubelet's limit for a manifest (B-STA-1).
const maxManifestBytes = 10 << 20

// version tells two states of a file apart without reading it.
type version struct {
	device, inode uint64
	size          int64
	changed       unix.Timespec
}

func versionOf(f *os.File) (version, error) {
	var stat unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &stat); err != nil {
		return version{}, fmt.Errorf("stat %s: %w", f.Name(), err)
	}
	return version{device: stat.Dev, inode: stat.Ino, size: stat.Size, changed: stat.Ctim}, nil
}

// read brings the file up to date. It says how soon it is to be read again, 0 if only after a change.
func (f *file) read(now time.Time, o manifest.StaticOptions) time.Duration {
	opened, err := pathwatch.Open(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return settledAfter // gone since it was listed
	}
	if err != nil {
		return f.fail(fmt.Errorf("read static pods: %w", err))
	}
	defer func() { _ = opened.Close() }() // only read
	before, err := versionOf(opened)
	if err != nil {
		return f.fail(err)
	}
	if before == f.version {
		return 0
	}
	data, err := io.ReadAll(io.LimitReader(opened, maxManifestBytes+1))
	if err != nil {
		return f.fail(fmt.Errorf("read static pods: %w", err))
	}
	after, err := versionOf(opened)
	if err != nil {
		return f.fail(err)
	}
	if again := f.beingWritten(now, opened, before != after); again {
		return settledAfter
	}
	f.unread, f.writing = false, time.Time{}
	f.take(data, o)
	if age := now.Sub(time.Unix(after.changed.Unix())); age >= 0 && age < settledAfter {
		f.version = version{} // another change may have the same time
		return settledAfter
	}
	f.version = after
	return 0
}

func (f *file) fail(err error) time.Duration {
	f.err, f.version, f.unread = err, version{}, false
	return 0
}

// beingWritten says whether somebody has the file open to write it, or has just changed it.
func (f *file) beingWritten(now time.Time, opened *os.File, changed bool) bool {
	if written, _ := pathwatch.IsWritten(opened); !changed && !written { // without an answer it isn't
		return false
	}
	if f.writing.IsZero() {
		f.writing = now
	}
	if now.Sub(f.writing) >= writingUntil {
		return false
	}
	f.unread = f.set == nil && f.err == nil
	return true
}

// take makes pods of the file's content, if it is another than last time.
func (f *file) take(data []byte, o manifest.StaticOptions) {
	sum := sha256.Sum256(data)
	if sum == f.content && f.set != nil && f.err == nil {
		return
	}
	f.content = sum
	if len(data) > maxManifestBytes {
		f.err = fmt.Errorf("%s: it is larger than %d MiB", f.path, maxManifestBytes>>20)
		return
	}
	set, err := manifest.ReadStatic(manifest.Source{Name: f.path, Data: data}, o)
	if f.err = err; err == nil {
		f.set = set
	}
}
