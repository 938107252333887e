// Package loglinks makes links to the logs of pods where log collectors look for them.
package loglinks

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

	"github.com/lifepod/lifepod/worker/criconfig"
)

// longestLinkName is what a file system takes, as Kubernetes cuts the name.
const longestLinkName = 251

// Links are the links to a pod's logs in the folder that log collectors read:
// POD_NAMESPACE_CONTAINER-ID.log, for the instances that the status shows.
type Links struct {
	Dir   string            // empty: none are made
	links map[string]string // by container: the path of its link
}

// Follow makes the links that a status asks for; those of older instances go.
func (l *Links) Follow(pod *v1.Pod, logDir string, status *v1.PodStatus) {
	if l.Dir == "" {
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
func (l *Links) removeOlder(pod *v1.Pod, logDir string) {
	current := slices.Collect(maps.Values(l.links))
	entries, _ := os.ReadDir(l.Dir) // no folder, no links
	for _, entry := range entries {
		path := filepath.Join(l.Dir, entry.Name())
		if !strings.HasPrefix(entry.Name(), linkPrefix(pod)) || slices.Contains(current, path) {
			continue
		}
		if target, err := os.Readlink(path); err == nil && strings.HasPrefix(target, logDir+"/") {
			_ = os.Remove(path)
		}
	}
}

func linkPrefix(pod *v1.Pod) string { return pod.Name + "_" + pod.Namespace + "_" }

func linkName(pod *v1.Pod, container, id string) string {
	name := linkPrefix(pod) + container + "-" + id
	return name[:min(len(name), longestLinkName)] + ".log"
}

func (l *Links) link(container, name, target string) {
	path := filepath.Join(l.Dir, name)
	if l.links[container] == path {
		return
	}
	if l.links == nil {
		l.links = map[string]string{}
		_ = os.MkdirAll(l.Dir, 0o755) // what can't be linked is only not seen by collectors
	}
	if old := l.links[container]; old != "" {
		_ = os.Remove(old)
	}
	_ = os.Remove(path)
	_ = os.Symlink(target, path)
	l.links[container] = path
}

// Remove removes the links of a pod that is gone, whoever made them.
func (l *Links) Remove(pod *v1.Pod, logDir string) {
	if l.Dir == "" {
		return
	}
	for _, path := range l.links {
		_ = os.Remove(path)
	}
	l.links = nil
	l.removeOlder(pod, logDir)
}

// RemoveDangling removes links to logs that are not there, if the container has ended;
// whoever made them. Without a folder there is nothing to do.
func RemoveDangling(dir string, ended func(containerID string) (bool, error)) error {
	if dir == "" {
		return nil
	}
	links, _ := filepath.Glob(filepath.Join(dir, "*.log")) // the pattern is good
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
