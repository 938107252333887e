package bundle

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/lifepod/lifepod/bundle/manifest"
	"github.com/lifepod/lifepod/internal/rootfolder"
	"github.com/lifepod/lifepod/internal/wholefile"
)

// completeName marks an unpacked folder as whole. It is written last, before
// the folder gets its final name, and lists size and time of change of each
// file as they were after the digests had been verified. A start compares
// these instead of hashing 70 MB again. Whoever uses the folder holds a
// shared lock on the mark.
const completeName = "complete.json"

// partialPrefix is the start of a folder's name while it is unpacked or
// removed; whatever has it is swept up by the next unpacking.
const partialPrefix = ".partial-"

// Unpack puts the carried runtime below root, if it is not there yet, and
// says where it is. Several processes may call it at once. An empty root
// means [DefaultRoot].
func Unpack(root string) (Paths, error) {
	p, err := Locate(root, "")
	if err != nil {
		return p, err
	}
	a, err := carried()
	if err != nil {
		return p, err
	}
	held, err := p.unpack(context.Background(), a)
	if err != nil {
		return p, err
	}
	return p, held.Close()
}

// unpack sets p.Bundle. The folder is not removed as long as the returned
// lock is held.
func (p *Paths) unpack(ctx context.Context, a archive) (*os.File, error) {
	p.Bundle = filepath.Join(p.bundles(), a.manifest.Digest())
	held, err := p.claim(a.manifest)
	if err != nil {
		held, err = p.unpackAlone(ctx, a)
	}
	if err != nil {
		return nil, err
	}
	p.removeOthers()
	return held, nil
}

// unpackAlone waits until nobody else unpacks: the other one may have done
// the work then.
func (p *Paths) unpackAlone(ctx context.Context, a archive) (*os.File, error) {
	if err := rootfolder.Make(p.Root); err != nil {
		return nil, err
	}
	if err := rootfolder.Ensure(p.bundles(), 0o700); err != nil {
		return nil, fmt.Errorf("unpack the runtime: %w", err)
	}
	only, err := lock(ctx, filepath.Join(p.bundles(), "lock"), unix.LOCK_EX)
	if err != nil {
		return nil, fmt.Errorf("unpack the runtime: %w", err)
	}
	defer only.Close()
	if held, err := p.claim(a.manifest); err == nil {
		return held, nil
	}
	p.sweepPartial()
	if err := p.extract(a); err != nil {
		return nil, p.explainSpace(err, a.manifest)
	}
	return p.claim(a.manifest)
}

// claim locks a folder that is already unpacked, or says why it cannot be
// used.
func (p *Paths) claim(m manifest.Manifest) (*os.File, error) {
	mark := filepath.Join(p.Bundle, completeName)
	text, err := os.ReadFile(mark)
	if err != nil {
		return nil, err
	}
	held, err := tryLock(mark, unix.LOCK_SH)
	if err != nil {
		return nil, err
	}
	if err := p.checkComplete(text, m); err != nil {
		held.Close()
		return nil, err
	}
	return held, nil
}

// fileState is what is remembered of a verified file.
type fileState struct {
	Size        int64 `json:"size"`
	ModTimeNano int64 `json:"modTimeNano"`
}

// checkComplete compares the files with what they were when their digests
// had just been verified.
func (p *Paths) checkComplete(mark []byte, m manifest.Manifest) error {
	var want map[string]fileState
	if err := json.Unmarshal(mark, &want); err != nil {
		return fmt.Errorf("read %s: %w", completeName, err)
	}
	for _, f := range m.Files {
		have, err := stateOf(filepath.Join(p.Bundle, f.Path))
		if err != nil {
			return err
		}
		if known, ok := want[f.Path]; !ok || have != known {
			return fmt.Errorf("%s was changed after it had been unpacked", f.Path)
		}
	}
	return nil
}

func stateOf(path string) (fileState, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return fileState{}, err
	}
	return fileState{Size: info.Size(), ModTimeNano: info.ModTime().UnixNano()}, nil
}

// sweepPartial removes what an interrupted unpacking left. The caller holds
// the unpacking lock.
func (p *Paths) sweepPartial() {
	entries, err := os.ReadDir(p.bundles())
	if err != nil {
		return
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), partialPrefix) {
			_ = os.RemoveAll(filepath.Join(p.bundles(), e.Name()))
		}
	}
}

// replaceFile gives the file at path new content in one step, durably. It leaves an
// equal file alone.
func replaceFile(path string, content []byte) error {
	if have, err := os.ReadFile(path); err == nil && bytes.Equal(have, content) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := wholefile.WriteMode(path, content, 0o644); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}
