package run

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/manifest"
)

// lookPeriod is the time between two looks at the manifest's files. A change is
// taken when two looks in a row see the same, so that no half-written file is read,
// or another file in its place, however often that changes: it came by a rename.
const lookPeriod = 250 * time.Millisecond

// reloader takes changes of ConfigMaps and Secrets in the manifest's files over
// while the pod runs (A-VOL-5). Files are looked at, not watched: that works for
// links, for file systems without events and for editors that replace files.
type reloader struct {
	options Options
	running *manifest.Set // as it is taken over
	objects *objects
	post    func(lifecycle.Fact)
	warn    func(string)
}

// run looks until ctx ends. Standard input and pipes can't be read again.
func (r *reloader) run(ctx context.Context) {
	if !r.areFiles() {
		return
	}
	r.options.Name = r.running.Pod.Name // a generated name would be another each time
	ticker := time.NewTicker(lookPeriod)
	defer ticker.Stop()
	taken := r.look()
	for last := taken; ; {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		now := r.look()
		settled := slices.EqualFunc(now, last, func(a, b version) bool { return a == b || b.isReplacedBy(a) })
		last = now
		if settled && !slices.Equal(now, taken) && r.reload(now) {
			taken = now
		}
	}
}

// areFiles is false if reading again would wait for a writer, or read nothing:
// lifepod could not end then. A file that is not there is one that comes back.
func (r *reloader) areFiles() bool {
	return !slices.ContainsFunc(r.options.Files, func(name string) bool {
		info, err := os.Stat(name)
		return name == "-" || err == nil && !info.Mode().IsRegular()
	})
}

// look says which version of each file is there.
func (r *reloader) look() []version {
	var versions []version
	for _, name := range r.options.Files {
		var stat unix.Stat_t
		if unix.Stat(name, &stat) != nil {
			stat = unix.Stat_t{} // gone for now, or for good: reading says so
		}
		versions = append(versions, version{device: stat.Dev, inode: stat.Ino, size: stat.Size, changed: stat.Ctim})
	}
	return versions
}

// version is what tells two versions of a file apart without reading it.
type version struct {
	device, inode uint64
	size          int64
	changed       unix.Timespec
}

// isReplacedBy says whether another file has taken the place of one.
func (v version) isReplacedBy(other version) bool {
	return v.inode != 0 && other.inode != 0 && (v.device != other.device || v.inode != other.inode)
}

// reload takes over what may change. Whatever is wrong is one line, and nothing
// is changed. It reports false if the files changed meanwhile.
func (r *reloader) reload(seen []version) bool {
	if !r.areFiles() {
		return true
	}
	later, err := readManifests(r.options)
	if !slices.Equal(seen, r.look()) {
		return false
	}
	var update manifest.Update
	if err == nil {
		update, err = r.running.Update(later)
	}
	if err != nil {
		first, more, found := strings.Cut(err.Error(), "\n")
		if found {
			first += fmt.Sprintf(" (and %d more)", 1+strings.Count(more, "\n"))
		}
		r.warn("the manifest has changed and can't be used, nothing is updated: " + first)
		return true
	}
	if len(update.Ignored) > 0 {
		r.warn("changed while the pod runs, ignored until it is run again: " + atMost(5, update.Ignored))
	}
	if len(update.Changed) > 0 {
		r.take(later, update)
	}
	return true
}

// take makes the objects those of the pod. Its spec stays: what is ignored now
// is reported again with the next change.
func (r *reloader) take(later *manifest.Set, update manifest.Update) {
	pod := r.running.Pod.DeepCopy()
	pod.Labels, pod.Annotations = later.Pod.Labels, later.Pod.Annotations
	r.running = &manifest.Set{Pod: pod, ConfigMaps: later.ConfigMaps, Secrets: later.Secrets}
	r.objects.replace(later)
	r.post(lifecycle.ObjectsChanged{Labels: pod.Labels, Annotations: pod.Annotations, Because: atMost(5, update.Changed) + " changed"})
}

func atMost(n int, list []string) string {
	if len(list) > n {
		return fmt.Sprintf("%s and %d more", strings.Join(list[:n], ", "), len(list)-n)
	}
	return strings.Join(list, ", ")
}
