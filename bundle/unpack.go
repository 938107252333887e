package bundle

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/zstd"
	"golang.org/x/sys/unix"

	"github.com/lifepod/lifepod/bundle/manifest"
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
	p, err := pathsOf(root, "")
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
	if err := os.MkdirAll(p.bundles(), 0o700); err != nil {
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

// extract unpacks into a folder of its own and gives it its name when it is
// whole.
func (p *Paths) extract(a archive) error {
	partial, err := os.MkdirTemp(p.bundles(), partialPrefix)
	if err != nil {
		return fmt.Errorf("unpack the runtime: %w", err)
	}
	defer os.RemoveAll(partial)
	if err := os.Chmod(partial, 0o755); err != nil {
		return fmt.Errorf("unpack the runtime: %w", err)
	}
	if err := extractTo(partial, a); err != nil {
		return fmt.Errorf("unpack the runtime to %s: %w", p.bundles(), err)
	}
	if err := writeMark(partial, a.manifest); err != nil {
		return fmt.Errorf("unpack the runtime to %s: %w", p.bundles(), err)
	}
	// What has the final name here is damaged, or claim would have succeeded.
	if err := os.RemoveAll(p.Bundle); err != nil {
		return fmt.Errorf("replace the damaged runtime in %s: %w", p.Bundle, err)
	}
	if err := os.Rename(partial, p.Bundle); err != nil {
		return fmt.Errorf("unpack the runtime: %w", err)
	}
	return nil
}

func extractTo(dir string, a archive) error {
	packed, err := a.compressed()
	if err != nil {
		return err
	}
	defer packed.Close()
	z, err := zstd.NewReader(packed)
	if err != nil {
		return err
	}
	defer z.Close()
	want := make(map[string]manifest.File)
	for _, f := range a.manifest.Files {
		want[f.Path] = f
	}
	r := tar.NewReader(z)
	for {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("read the archive: %w", err)
		}
		f, ok := want[header.Name]
		if !ok {
			return fmt.Errorf("the archive has %q, which its manifest does not list", header.Name)
		}
		if err := extractFile(dir, f, r); err != nil {
			return err
		}
		delete(want, f.Path)
	}
	for missing := range want {
		return fmt.Errorf("the archive lacks %q", missing)
	}
	return nil
}

// extractFile writes one file through to the disk and verifies its digest.
func extractFile(dir string, f manifest.File, content io.Reader) error {
	path := filepath.Join(dir, f.Path)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	out, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, os.FileMode(f.Mode))
	if err != nil {
		return err
	}
	defer out.Close()
	h := sha256.New()
	if _, err := io.Copy(io.MultiWriter(out, h), content); err != nil {
		return fmt.Errorf("write %s: %w", f.Path, err)
	}
	if got := fmt.Sprintf("%x", h.Sum(nil)); got != f.SHA256 {
		return fmt.Errorf("%s is damaged: its sha256 is %s, the manifest says %s", f.Path, got, f.SHA256)
	}
	if err := out.Sync(); err != nil {
		return fmt.Errorf("write %s: %w", f.Path, err)
	}
	return out.Close()
}

func writeMark(dir string, m manifest.Manifest) error {
	states := make(map[string]fileState)
	for _, f := range m.Files {
		state, err := stateOf(filepath.Join(dir, f.Path))
		if err != nil {
			return err
		}
		states[f.Path] = state
	}
	text, err := json.MarshalIndent(states, "", "  ")
	if err != nil {
		return err
	}
	return writeSynced(filepath.Join(dir, completeName), text)
}

// explainSpace adds what a full disk lacks.
func (p *Paths) explainSpace(err error, m manifest.Manifest) error {
	if !errors.Is(err, unix.ENOSPC) && !errors.Is(err, unix.EDQUOT) {
		return err
	}
	var need int64
	for _, f := range m.Files {
		need += f.Size
	}
	var stat unix.Statfs_t
	if unix.Statfs(p.bundles(), &stat) != nil {
		return err
	}
	const mib = 1 << 20
	free := int64(stat.Bavail) * stat.Bsize
	return fmt.Errorf("%w: the runtime needs %d MiB below %s, %d MiB are free; make room or choose another --root", err, need/mib+1, p.Root, free/mib)
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
			os.RemoveAll(filepath.Join(p.bundles(), e.Name()))
		}
	}
}
