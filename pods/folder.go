package pods

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/lifepod/lifepod/internal/rootfolder"
)

// LogLinksFolder is the one that log collectors read. It is for all pods of an agent, and is read once: a pod that looked for its links
// there would look at those of all others.
type LogLinksFolder struct {
	Dir string

	mu    sync.Mutex
	names map[string][]string // of links, whoever made them, by the prefix of their pods; nil: it is not read yet
}

func (f *LogLinksFolder) of(prefix string) []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.read()
	return slices.Clone(f.names[prefix])
}

// read reads what is there from agents before. A folder that can't be read now is read the next time. Called with mu held.
func (f *LogLinksFolder) read() {
	if f.names != nil {
		return
	}
	entries, err := os.ReadDir(f.Dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return
	}
	f.names = map[string][]string{}
	for _, entry := range entries {
		prefix := prefixOf(entry.Name())
		f.names[prefix] = append(f.names[prefix], entry.Name())
	}
}

// prefixOf is the prefix of a link's pod. Names of pods and namespaces have no underscore.
func prefixOf(name string) string {
	parts := strings.SplitAfterN(name, "_", 3)
	return strings.Join(parts[:min(len(parts), 2)], "")
}

// make makes a link, in the place of another of that name. What can't be linked is only not seen by collectors.
func (f *LogLinksFolder) make(name, target string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.read()
	_ = rootfolder.Ensure(f.Dir, 0o750)
	path := filepath.Join(f.Dir, name)
	_ = os.Remove(path)
	_ = os.Symlink(target, path)
	if prefix := prefixOf(name); f.names != nil && !slices.Contains(f.names[prefix], name) {
		f.names[prefix] = append(f.names[prefix], name)
	}
}

func (f *LogLinksFolder) remove(name string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.read()
	err := os.Remove(filepath.Join(f.Dir, name))
	prefix := prefixOf(name)
	left := slices.DeleteFunc(f.names[prefix], func(n string) bool { return n == name })
	if len(left) > 0 {
		f.names[prefix] = left
	} else {
		delete(f.names, prefix)
	}
	return err
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
			err = f.remove(filepath.Base(link))
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			failures = append(failures, fmt.Errorf("remove a link to a log that is gone: %w", err))
		}
	}
	return errors.Join(failures...)
}
