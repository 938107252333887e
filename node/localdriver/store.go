package localdriver

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/lifepod/lifepod/internal/rootfolder"
	"github.com/lifepod/lifepod/internal/wholefile"
)

// record is what is known of a volume or a snapshot, on disk beside its image.
type record struct {
	ID   string `json:"-"`    // the folder's name
	Name string `json:"name"` // as in the request that made it
	// Bytes is the size that was promised.
	Bytes int64 `json:"bytes"`
	// Block says that pods have it as a raw block device. Otherwise its file system has
	// FileSystem bytes, which are fewer after it has grown, until a node expands it.
	Block      bool  `json:"block,omitempty"`
	FileSystem int64 `json:"fileSystem,omitempty"`
	// Used is set once the root of the file system is as pods shall find it at first.
	Used bool `json:"used,omitempty"`
	// Unused says that no pod had it yet; what it is a copy of may have been used.
	Unused bool `json:"unused,omitempty"`
	// Shared says that blocks are shared with another image, so that what is written may
	// need room even where something was written before.
	Shared bool `json:"shared,omitempty"`
	// FromVolume or FromSnapshot is what the content was copied from.
	FromVolume   string    `json:"fromVolume,omitempty"`
	FromSnapshot string    `json:"fromSnapshot,omitempty"`
	Created      time.Time `json:"created"`

	damage error // why the record can't be read
}

// store has the volumes of a node, or the snapshots, each in a folder of its ID.
type store struct {
	dir   string
	mu    sync.Mutex
	items map[string]record
}

const (
	recordFile = "record.json"
	imageFile  = "image"
	unfinished = ".new-"
	deleted    = ".gone-"
)

// openStore reads a store and removes what was neither complete nor wanted any more.
func openStore(dir string) (*store, error) {
	if err := rootfolder.Ensure(dir, 0o700); err != nil {
		return nil, err
	}
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	s := &store{dir: dir, items: map[string]record{}}
	for _, entry := range entries {
		name := entry.Name()
		if strings.HasPrefix(name, unfinished) || strings.HasPrefix(name, deleted) {
			if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
				return nil, err
			}
			continue
		}
		s.items[name] = read(filepath.Join(dir, name))
	}
	return s, nil
}

func read(folder string) record {
	r := record{ID: filepath.Base(folder)}
	content, err := os.ReadFile(filepath.Join(folder, recordFile))
	if err == nil {
		err = json.Unmarshal(content, &r)
	}
	r.damage = err
	return r
}

// plain is what may be the name of a folder as it is. With the name of the node, an ID shall
// have no more than CSI's 128 bytes.
var plain = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{0,62}$`)

// idOf is the ID of what has a name, the same at each try.
func idOf(name string) string {
	if plain.MatchString(name) {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	return "name-" + hex.EncodeToString(sum[:])
}

func (s *store) image(id string) string { return filepath.Join(s.dir, id, imageFile) }

// get is an error of code NotFound if there is none.
func (s *store) get(kind, id string) (record, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, found := s.items[id]
	switch {
	case !found:
		return record{}, status.Errorf(codes.NotFound, "there is no %s %q on this node", kind, id)
	case r.damage != nil:
		return record{}, status.Errorf(codes.Internal, "record of %s %q in %s: %v", kind, id, s.dir, r.damage)
	}
	return r, nil
}

// list is in the order of IDs.
func (s *store) list() []record {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []record
	for _, r := range s.items {
		if r.damage == nil {
			all = append(all, r)
		}
	}
	slices.SortFunc(all, func(a, b record) int { return strings.Compare(a.ID, b.ID) })
	return all
}

// add makes a folder with an image, which fill makes, and with the record. Both are there
// after a power cut, or neither.
func (s *store) add(r record, fill func(image string, r *record) error) error {
	folder := filepath.Join(s.dir, unfinished+r.ID)
	if err := errors.Join(os.RemoveAll(folder), os.Mkdir(folder, 0o700)); err != nil {
		return err
	}
	image := filepath.Join(folder, imageFile)
	err := fill(image, &r)
	if err == nil {
		err = syncFile(image)
	}
	if err == nil {
		err = wholefile.WriteJSON(filepath.Join(folder, recordFile), r)
	}
	if err == nil {
		err = os.Rename(folder, filepath.Join(s.dir, r.ID))
	}
	if err == nil {
		err = wholefile.SyncFolder(s.dir)
	}
	if err != nil {
		return errors.Join(err, os.RemoveAll(folder))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.items[r.ID] = r
	return nil
}

// save replaces a record.
func (s *store) save(r record) error {
	if err := wholefile.WriteJSON(filepath.Join(s.dir, r.ID, recordFile), r); err != nil {
		return fmt.Errorf("write record: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.items[r.ID] = r
	return nil
}

// remove deletes a folder; there may be none.
func (s *store) remove(id string) error {
	s.mu.Lock()
	_, found := s.items[id]
	s.mu.Unlock()
	if !found {
		return nil
	}
	gone := filepath.Join(s.dir, deleted+id)
	err := errors.Join(os.RemoveAll(gone), os.Rename(filepath.Join(s.dir, id), gone))
	if err == nil {
		err = wholefile.SyncFolder(s.dir)
	}
	if err != nil {
		return err
	}
	s.mu.Lock()
	delete(s.items, id)
	s.mu.Unlock()
	return os.RemoveAll(gone)
}

func syncFile(path string) error {
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(file.Sync(), file.Close())
}
