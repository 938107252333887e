package backup

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	save "go.etcd.io/etcd/client/v3/snapshot"
	"go.etcd.io/etcd/etcdutl/v3/snapshot"
	"go.uber.org/zap"

	"github.com/lifepod/lifepod/internal/wholefile"
)

type Config struct {
	Endpoint string // of etcd, such as unix:///run/lifepod/etcd.sock
	Data     string // folder of the cluster
	Version  string // of lifepod
}

// dialTimeout is how long etcd, on the same machine, is waited for.
const dialTimeout = 5 * time.Second

// Save writes a backup of a running cluster. The file is there only when it is whole
// and on disk; what is there of that name is replaced. Beside it there must be room
// for the uncompressed state, too.
func Save(ctx context.Context, c Config, file string) (Manifest, error) {
	m, err := c.save(ctx, file)
	if err != nil {
		return m, fmt.Errorf("back up to %s: %w", file, err)
	}
	return m, nil
}

func (c Config) save(ctx context.Context, file string) (m Manifest, err error) {
	file, err = filepath.Abs(file)
	if err != nil {
		return m, err
	}
	// Beside the file, so that the rename is one; with its contents gone whatever happens.
	work, err := os.MkdirTemp(filepath.Dir(file), temporary)
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	m = Manifest{Format: format, Version: c.Version, Time: time.Now().UTC().Truncate(time.Second)}
	places := map[string]string{snapshotName: filepath.Join(work, snapshotName)}
	if err := c.snapshot(ctx, places[snapshotName]); err != nil {
		return m, err
	}
	status, err := snapshot.NewV3(zap.NewNop()).Status(places[snapshotName])
	if err != nil {
		return m, fmt.Errorf("verify the snapshot: %w", err)
	}
	m.Revision, m.Etcd = status.Revision, status.Version
	if err := c.list(&m, places); err != nil {
		return m, err
	}
	// Not by wholefile: what a kill leaves of it would stay, as large as it is.
	out, err := os.OpenFile(filepath.Join(work, "backup"), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return m, err
	}
	if err := errors.Join(write(out, m, places), out.Sync(), out.Close()); err != nil {
		return m, err
	}
	if err := os.Rename(out.Name(), file); err != nil {
		return m, err
	}
	return m, wholefile.SyncFolder(filepath.Dir(file))
}

// snapshot has etcd write what it has, with the hash that it appends.
func (c Config) snapshot(ctx context.Context, place string) error {
	_, err := save.SaveWithVersion(ctx, zap.NewNop(), clientv3.Config{Endpoints: []string{c.Endpoint}, DialTimeout: dialTimeout}, place)
	if err != nil {
		return fmt.Errorf("take a snapshot of etcd: %w", err)
	}
	return verifyHash(place)
}

// verifyHash holds a snapshot against the SHA-256 that etcd has appended.
func verifyHash(place string) error {
	opened, err := os.Open(place)
	if err != nil {
		return err
	}
	defer func() { _ = opened.Close() }() // only read
	info, err := opened.Stat()
	if err != nil {
		return err
	}
	size := info.Size() - sha256.Size
	if size < 0 || size%512 != 0 {
		return errors.New("the snapshot of etcd has no hash at its end: it was cut off")
	}
	hash := sha256.New()
	if _, err := io.CopyN(hash, opened, size); err != nil {
		return err
	}
	want, err := io.ReadAll(opened)
	if err == nil && string(want) != string(hash.Sum(nil)) {
		err = errors.New("the snapshot of etcd does not have the hash at its end: it is damaged")
	}
	return err
}

// left says which files of the data folder are not in a backup: etcd's, of which it
// has a snapshot, what is written just now, and what belongs to the process.
func left(name string) bool {
	first, _, _ := strings.Cut(name, "/")
	return first == "etcd" || name == lockName || name == "log" || strings.HasPrefix(path.Base(name), ".")
}

func (c Config) list(m *Manifest, places map[string]string) error {
	names := []string{snapshotName}
	err := fs.WalkDir(os.DirFS(c.Data), ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil || name == ".":
			return err
		case e.IsDir() && left(name):
			return fs.SkipDir
		case e.Type().IsRegular() && !left(name):
			names = append(names, dataPrefix+name)
			places[dataPrefix+name] = filepath.Join(c.Data, filepath.FromSlash(name))
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("files of the cluster: %w", err)
	}
	for _, name := range names {
		f, err := sum(name, places[name])
		if err != nil {
			return err
		}
		m.Files = append(m.Files, f)
	}
	return complete(*m)
}
