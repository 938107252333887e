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

// reloader takes changes of ConfigMaps and Secrets in the manifests' files over
// while the pods run (A-VOL-5). Files are looked at, not watched: that works for
// links, for file systems without events and for editors that replace files.
type reloader struct {
	options Options
	pods    []*reloaded
	objects *objects
	warn    func(string)
	taken   []version // of the files, looked at before they were read: they may change before run looks
}

type reloaded struct {
	set  *manifest.Set // as it is taken over
	post func(lifecycle.Fact)
	warn func(string)
}

// run looks until ctx ends. Standard input, pipes and URLs can't be read again, and a kustomization is of files that are not known.
func (r *reloader) run(ctx context.Context) {
	if !r.areFiles() {
		return
	}
	ticker := time.NewTicker(lookPeriod)
	defer ticker.Stop()
	for last := r.taken; ; {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		now := r.options.look()
		settled := slices.EqualFunc(now, last, func(a, b version) bool { return a == b || b.isReplacedBy(a) })
		last = now
		if settled && !slices.Equal(now, r.taken) && r.reload(now) {
			r.taken = now
		}
	}
}

// areFiles is false if reading again would wait for a writer, or read nothing:
// lifepod could not end then. A file that is not there is one that comes back.
func (r *reloader) areFiles() bool {
	return r.options.Kustomization == "" && !slices.ContainsFunc(r.options.Files, func(name string) bool {
		info, err := os.Stat(name)
		return name == stdinName || isURL(name) || err == nil && !info.Mode().IsRegular() && !info.IsDir()
	})
}

func (o *Options) look() []version {
	var versions []version
	for _, name := range o.Files {
		files, _ := o.filesOf(name) // reading the folder says what is wrong
		for _, file := range files {
			var stat unix.Stat_t
			if unix.Stat(file, &stat) != nil {
				stat = unix.Stat_t{} // gone for now, or for good: reading says so
			}
			versions = append(versions, version{device: stat.Dev, inode: stat.Ino, size: stat.Size, changed: stat.Ctim})
		}
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
	if !slices.Equal(seen, r.options.look()) {
		return false
	}
	var sets []*manifest.Set
	if err == nil {
		sets = later.All()
		err = r.rename(sets)
	}
	updates := make([]manifest.Update, len(r.pods))
	for i := 0; i < len(r.pods) && err == nil; i++ {
		updates[i], err = r.pods[i].set.Update(sets[i])
	}
	if err != nil {
		first, more, found := strings.Cut(err.Error(), "\n")
		if found {
			first += fmt.Sprintf(" (and %d more)", 1+strings.Count(more, "\n"))
		}
		r.warn("the manifest has changed and can't be used, nothing is updated: " + first)
		return true
	}
	r.take(sets, updates)
	return true
}

// rename gives pods the names of those that run: a generated one is another each time. Several pods have to be the same.
func (r *reloader) rename(sets []*manifest.Set) error {
	if len(sets) != len(r.pods) {
		return fmt.Errorf("there are %d pods in it, and %d run", len(sets), len(r.pods))
	}
	for i, set := range sets {
		if running := r.pods[i].set.Pod; len(r.pods) == 1 || set.Pod.GenerateName != "" && set.Pod.GenerateName == running.GenerateName {
			set.Pod.Name = running.Name
		}
	}
	return nil
}

// take makes the objects those of the pods. Their specs stay: what is ignored now
// is reported again with the next change.
func (r *reloader) take(sets []*manifest.Set, updates []manifest.Update) {
	for i, update := range updates {
		one := r.pods[i]
		if len(update.Ignored) > 0 {
			one.warn("changed while the pod runs, ignored until it is run again: " + atMost(5, update.Ignored))
		}
		if len(update.Changed) == 0 {
			continue
		}
		r.objects.replace(sets)
		pod := one.set.Pod.DeepCopy()
		pod.Labels, pod.Annotations = sets[i].Pod.Labels, sets[i].Pod.Annotations
		one.set = &manifest.Set{Pod: pod, ConfigMaps: sets[i].ConfigMaps, Secrets: sets[i].Secrets}
		one.post(lifecycle.ObjectsChanged{Labels: pod.Labels, Annotations: pod.Annotations, Because: atMost(5, update.Changed) + " changed"})
	}
}

func atMost(n int, list []string) string {
	if len(list) > n {
		return fmt.Sprintf("%s and %d more", strings.Join(list[:n], ", "), len(list)-n)
	}
	return strings.Join(list, ", ")
}
