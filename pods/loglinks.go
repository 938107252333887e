package pods

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/worker/criconfig"
)

// longestLinkName is what a file system takes, in bytes.
const longestLinkName = 255

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
	for _, list := range [][]v1.ContainerStatus{
		status.InitContainerStatuses, status.ContainerStatuses, status.EphemeralContainerStatuses,
	} {
		for i := range list {
			_, id, _ := strings.Cut(list[i].ContainerID, "://")
			if id != "" {
				l.link(list[i].Name, linkName(pod, list[i].Name, id), filepath.Join(logDir, criconfig.ContainerLogPath(list[i].Name, int(list[i].RestartCount))))
			}
		}
	}
	if fresh {
		l.removeOlder(pod, logDir)
	}
}

// removeOlder removes links to a pod's logs that another agent has made, of
// instances that are gone since.
func (l *LogLinks) removeOlder(pod *v1.Pod, logDir string) {
	current := slices.Collect(maps.Values(l.links))
	for _, name := range l.Folder.of(linkPrefix(pod)) {
		if slices.Contains(current, name) {
			continue
		}
		target, err := os.Readlink(filepath.Join(l.Folder.Dir, name))
		if err == nil && strings.HasPrefix(target, logDir+"/") || errors.Is(err, fs.ErrNotExist) {
			_ = l.Folder.remove(name) // or RemoveDangling does
		}
	}
}

func linkPrefix(pod *v1.Pod) string { return pod.Name + "_" + pod.Namespace + "_" }

// linkName keeps the ID whole: other instances have other links (A-CRI-1).
func linkName(pod *v1.Pod, container, id string) string {
	name, end := linkPrefix(pod)+container, "-"+id+".log"
	return name[:min(len(name), longestLinkName-len(end))] + end
}

func (l *LogLinks) link(container, name, target string) {
	if l.links[container] == name {
		return
	}
	if l.links == nil {
		l.links = map[string]string{}
	}
	if old := l.links[container]; old != "" {
		_ = l.Folder.remove(old)
	}
	l.Folder.make(name, target)
	l.links[container] = name
}

// Remove removes the links of a pod that is gone, whoever made them.
func (l *LogLinks) Remove(pod *v1.Pod, logDir string) {
	if l.Folder == nil {
		return
	}
	for _, name := range l.links {
		_ = l.Folder.remove(name)
	}
	l.links = nil
	l.removeOlder(pod, logDir)
}
