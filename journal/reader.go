//go:build linux

package journal

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/lifepod/lifepod/internal/rootfolder"
	"github.com/lifepod/lifepod/internal/wholefile"
	"github.com/lifepod/lifepod/lifecycle"
)

// Folder is a journal: a folder with one of each pod.
type Folder struct{ Dir string }

// In are the journals of a state folder: of lifepod run and of agents without a cluster, and of the node of lifepod up and join.
func In(root string) []Folder {
	return []Folder{{rootfolder.Journal.In(root)}, {rootfolder.Journal.In(rootfolder.Node.In(root))}}
}

// of is a pod's folder, whatever its UID looks like.
func (f Folder) of(uid string) string {
	return filepath.Join(f.Dir, filepath.Base(filepath.Clean("/"+uid)))
}

// Pods lists the pods that the journal has, those of a name by the time of their first
// entry. With an error, which names what can't be read, it lists the others.
func (f Folder) Pods() ([]Pod, error) {
	entries, err := os.ReadDir(f.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	var list []Pod
	var damaged error
	for _, e := range entries {
		pod, err := readPod(f.of(e.Name()))
		if err != nil {
			if !errors.Is(err, fs.ErrNotExist) { // a pod of which nothing is written yet, or any more
				damaged = errors.Join(damaged, err)
			}
			continue
		}
		list = append(list, pod)
	}
	slices.SortStableFunc(list, func(a, b Pod) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name), a.Created.Compare(b.Created))
	})
	return list, damaged
}

func readPod(dir string) (Pod, error) {
	content, err := os.ReadFile(filepath.Join(dir, podFile))
	if err != nil {
		return Pod{}, fmt.Errorf("journal: %w", err)
	}
	var p Pod
	if len(content) == 0 {
		return p, fmt.Errorf("journal: %s: %w", dir, fs.ErrNotExist)
	}
	if err := json.NewDecoder(bytes.NewReader(content)).Decode(&p); err != nil { // what follows is of a longer one before
		return p, fmt.Errorf("journal: %s: %w", filepath.Join(dir, podFile), err)
	}
	return p, nil
}

// Read returns what the journal has of a pod. It may be read while it is written.
func (f Folder) Read(uid string) (*Record, error) {
	dir := f.of(uid)
	pod, err := readPod(dir)
	if err != nil {
		return nil, err
	}
	r := &Record{Pod: pod}
	if r.Living, err = f.locked(dir); err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	if r.Entries, _, err = readEntries(dir); err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	if r.Ends, err = readEnds(dir); err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	for i := 1; i < len(r.Entries); i++ {
		r.Left += r.Entries[i].ID - r.Entries[i-1].ID - 1
	}
	now, err := readNow(filepath.Join(dir, nowFile))
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	if now.Content != nil {
		r.Now = &Now{}
		if err := json.Unmarshal(now.Content, r.Now); err != nil {
			return nil, fmt.Errorf("journal: %s: %w", filepath.Join(dir, nowFile), err)
		}
	}
	return r, nil
}

// readEntries reads all entries of a pod's folder, oldest first; torn: the last line was not
// written whole.
func readEntries(dir string) (entries []Entry, torn bool, err error) {
	for _, path := range append([]string{filepath.Join(dir, firstFile)}, newestFiles(dir)...) {
		content, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) { // none yet, or one that was removed meanwhile
			continue
		}
		if err != nil {
			return nil, false, err
		}
		torn = len(content) > 0 && content[len(content)-1] != '\n'
		for line := range bytes.Lines(content) {
			var e Entry
			if json.Unmarshal(line, &e) == nil && e.ID > 0 { // else it was cut off
				entries = append(entries, e)
			}
		}
	}
	return entries, torn, nil
}

// newestFiles are those after the first, oldest first.
func newestFiles(dir string) []string {
	found, _ := filepath.Glob(filepath.Join(dir, "[0-9]*"+suffix)) // the pattern is sound
	number := func(path string) int64 {
		n, _ := strconv.ParseInt(strings.TrimSuffix(filepath.Base(path), suffix), 10, 64)
		return n
	}
	slices.SortFunc(found, func(a, b string) int { return cmp.Compare(number(a), number(b)) })
	return found
}

// newestFile is the one to go on with.
func newestFile(dir string) string {
	if found := newestFiles(dir); len(found) > 0 {
		return found[len(found)-1]
	}
	return filepath.Join(dir, firstFile)
}

// Several are journals that are read as one.
type Several []Source

// Together are several folders.
func Together(folders []Folder) (all Several) {
	for _, one := range folders {
		all = append(all, one)
	}
	return all
}

// Pods lists the pods of all of them, each once. With an error, which names what can't be read, it lists the others.
func (s Several) Pods() (all []Pod, err error) {
	known := map[string]bool{}
	for _, one := range s {
		pods, damaged := one.Pods()
		err = errors.Join(err, damaged)
		for _, p := range pods {
			if !known[p.UID] {
				known[p.UID], all = true, append(all, p)
			}
		}
	}
	return all, err
}

// Read returns what the first that has a pod has of it.
func (s Several) Read(uid string) (*Record, error) {
	for _, one := range s {
		r, err := one.Read(uid)
		if !errors.Is(err, fs.ErrNotExist) {
			return r, err
		}
	}
	return nil, fmt.Errorf("journal of pod %s: %w", uid, fs.ErrNotExist)
}

var nowSlots = wholefile.Slots{Slot: 256 << 10, Header: 48}

// readNow is what the file of a pod's state had last; nothing without an error: it is not there, or was never written whole.
func readNow(path string) (wholefile.Entry, error) {
	now, err := nowSlots.Read(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, wholefile.ErrDamaged) {
		return wholefile.Entry{}, nil
	}
	return now, err
}

// ObjectGone notes that the API server has removed the object of a pod of which nothing is left on the node.
func (f Folder) ObjectGone(uid string) error {
	path := filepath.Join(f.of(uid), nowFile)
	last, err := readNow(path)
	var now Now
	if err != nil || json.Unmarshal(last.Content, &now) != nil || now.Stage != lifecycle.Gone.String() || len(now.Waits) == 0 {
		return err
	}
	now.Waits = nil
	content, err := json.Marshal(now)
	if err != nil {
		return err
	}
	return nowSlots.Write(path, wholefile.Entry{Sequence: last.Sequence + 1, Content: content})
}
