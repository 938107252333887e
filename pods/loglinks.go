package pods

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/internal/rootfolder"
	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/worker/criconfig"
)

// longestLinkName is what a file system takes, in bytes.
const longestLinkName = 255

// LogLinksFolder is the one that log collectors read.
type LogLinksFolder struct{ Dir string }

// LogLinks are the links to a pod's logs in the folder that log collectors read:
// POD_NAMESPACE_CONTAINER-ID.log, for the instances that the status shows.
type LogLinks struct {
	Folder *LogLinksFolder   // nil: none are made
	links  map[string]string // by container: the name of its link
}

// Follow makes the links that a status asks for; those of older instances go.
func (l *LogLinks) Follow(pod *v1.Pod, logDir string, status *v1.PodStatus) {
	if l.Folder == nil {
		return
	}
	fresh := l.links == nil
	for _, c := range lifecycle.ContainerStatuses(status) {
		if _, id, _ := strings.Cut(c.ContainerID, "://"); id != "" {
			l.link(c.Name, linkName(pod, c.Name, id), filepath.Join(logDir, criconfig.ContainerLogPath(c.Name, int(c.RestartCount))))
		}
	}
	if fresh && l.links != nil {
		l.removeOlder(pod, logDir)
	}
}

// removeOlder removes links to a pod's logs that another agent has made, of
// instances that are gone since.
func (l *LogLinks) removeOlder(pod *v1.Pod, logDir string) {
	current := slices.Collect(maps.Values(l.links))
	entries, _ := os.ReadDir(l.Folder.Dir) // no folder, no links
	for _, entry := range entries {
		if !strings.HasPrefix(entry.Name(), linkPrefix(pod)) || slices.Contains(current, entry.Name()) {
			continue
		}
		path := filepath.Join(l.Folder.Dir, entry.Name())
		if target, err := os.Readlink(path); err == nil && strings.HasPrefix(target, logDir+"/") {
			_ = os.Remove(path) // or RemoveDangling does
		}
	}
}

func linkPrefix(pod *v1.Pod) string { return pod.Name + "_" + pod.Namespace + "_" }

// linkName keeps the ID whole: other instances have other links (A-CRI-1).
func linkName(pod *v1.Pod, container, id string) string {
	name, end := linkPrefix(pod)+container, "-"+id+".log"
	return name[:min(len(name), longestLinkName-len(end))] + end
}

// link makes a container's link, in the place of another of that name. What can't be linked is only not seen by collectors.
func (l *LogLinks) link(container, name, target string) {
	if l.links[container] == name {
		return
	}
	if l.links == nil {
		l.links = map[string]string{}
	}
	if old := l.links[container]; old != "" {
		_ = os.Remove(filepath.Join(l.Folder.Dir, old))
	}
	_ = rootfolder.Ensure(l.Folder.Dir, 0o750)
	path := filepath.Join(l.Folder.Dir, name)
	_ = os.Remove(path)
	_ = os.Symlink(target, path)
	l.links[container] = name
}

// Remove removes the links of a pod that is gone, whoever made them.
func (l *LogLinks) Remove(pod *v1.Pod, logDir string) {
	if l.Folder == nil {
		return
	}
	for _, name := range l.links {
		_ = os.Remove(filepath.Join(l.Folder.Dir, name))
	}
	l.links = nil
	l.removeOlder(pod, logDir)
}

// RemoveDangling removes links to logs that are not there, if the container has ended;
// whoever made them. A nil folder has none.
func (f *LogLinksFolder) RemoveDangling(ended func(containerID string) (bool, error)) error {
	if f == nil {
		return nil
	}
	links, _ := filepath.Glob(filepath.Join(f.Dir, "*.log")) // the pattern is good
	var failures []error
	for _, link := range links {
		if _, err := os.Stat(link); !errors.Is(err, fs.ErrNotExist) {
			continue
		}
		name := strings.TrimSuffix(filepath.Base(link), ".log")
		over, err := ended(name[strings.LastIndexByte(name, '-')+1:])
		if err == nil && over {
			err = os.Remove(link)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			failures = append(failures, fmt.Errorf("remove a link to a log that is gone: %w", err))
		}
	}
	return errors.Join(failures...)
}
