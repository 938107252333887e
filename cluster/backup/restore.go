package backup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"go.etcd.io/etcd/etcdutl/v3/snapshot"
	"go.uber.org/zap"
	"golang.org/x/sys/unix"

	"github.com/lifepod/lifepod/cluster/etcd"
	"github.com/lifepod/lifepod/internal/rootfolder"
	"github.com/lifepod/lifepod/internal/wholefile"
)

// temporary begins the names of folders for what is not whole yet.
const temporary = ".lifepod-backup-"

// bump is how much higher the revision of a restored etcd is: more than a cluster
// writes in years, as etcd's documentation suggests.
const bump = 1_000_000_000

type Restored struct {
	Manifest
	Kept string // folder with what was there before; empty if nothing was
}

// Restore makes the data folder of a cluster, which must not run, of a backup. What
// is in the folder is kept beside it if force is set, and is an error if not.
// Nothing is touched before the whole backup is found to be good.
func Restore(file, data string, force bool) (r Restored, err error) {
	if r, err = restore(file, data, force); err != nil {
		return r, fmt.Errorf("restore %s: %w", file, err)
	}
	return r, nil
}

func restore(file, data string, force bool) (r Restored, err error) {
	if data, err = filepath.Abs(data); err != nil {
		return r, err
	}
	used, err := inUse(data)
	if err != nil {
		return r, err
	}
	if used && !force {
		return r, fmt.Errorf("%s has a cluster already: with --force it is kept under another name, and replaced", data)
	}
	parent := filepath.Dir(data)
	if err := rootfolder.Make(parent); err != nil {
		return r, err
	}
	work, err := os.MkdirTemp(parent, temporary)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	made := filepath.Join(work, filepath.FromSlash(dataPrefix))
	if r.Manifest, err = build(file, work, made); err != nil {
		return r, err
	}
	if used {
		r.Kept = data + "." + time.Now().UTC().Format("20060102-150405")
		if exists(r.Kept) {
			return r, fmt.Errorf("%s is there already: try again in a second", r.Kept)
		}
		if err := os.Rename(data, r.Kept); err != nil {
			return r, err
		}
	} else if err := os.RemoveAll(filepath.Join(data, lockName)); err != nil {
		return r, err
	}
	if err := unix.Rename(made, data); err != nil { // os.Rename refuses an empty folder in its place
		return r, fmt.Errorf("rename %s to %s: %w", made, data, err)
	}
	return r, wholefile.SyncFolder(parent)
}

// build makes a data folder of a backup.
func build(file, work, made string) (Manifest, error) {
	opened, err := os.Open(file)
	if err != nil {
		return Manifest{}, err
	}
	defer func() { _ = opened.Close() }() // only read
	m, err := extract(opened, work)
	if err != nil {
		return m, err
	}
	taken := filepath.Join(work, snapshotName)
	if err := verifyHash(taken); err != nil {
		return m, err
	}
	err = snapshot.NewV3(zap.NewNop()).Restore(snapshot.RestoreConfig{
		SnapshotPath: taken, Name: etcd.Member, OutputDataDir: filepath.Join(made, "etcd"),
		PeerURLs: []string{etcd.PeerURL}, InitialCluster: etcd.Member + "=" + etcd.PeerURL, InitialClusterToken: etcd.Token,
		RevisionBump: bump, MarkCompacted: true,
	})
	if err != nil {
		return m, fmt.Errorf("etcd's snapshot: %w", err)
	}
	return m, nil
}

// inUse says whether there is something in the folder, but for the lock.
func inUse(data string) (bool, error) {
	entries, err := os.ReadDir(data)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	return slices.ContainsFunc(entries, func(e os.DirEntry) bool { return e.Name() != lockName }), err
}
