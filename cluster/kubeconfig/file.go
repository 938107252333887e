package kubeconfig

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/lifepod/lifepod/internal/wholefile"
)

// File is a user's kubeconfig file.
type File struct {
	Path   string
	Create bool   // if it is not there
	Owner  *Owner // of what is created; nil: this process
}

// Owner is whom a file belongs to.
type Owner struct{ UID, GID int }

// UserFile is the file of who has called this program: the first of KUBECONFIG, or
// .kube/config in the home folder. Under sudo it is that of the calling user.
func UserFile() (File, error) {
	f := File{Create: true}
	owner, home, err := caller()
	if err != nil {
		return f, err
	}
	f.Owner = owner
	for _, path := range filepath.SplitList(os.Getenv(clientcmd.RecommendedConfigPathEnvVar)) {
		if path != "" {
			f.Path, err = filepath.Abs(path)
			return f, err
		}
	}
	f.Path = filepath.Join(home, ".kube", "config")
	return f, nil
}

// caller is who has called sudo; without it the owner is nil, this process.
func caller() (owner *Owner, home string, err error) {
	id := os.Getenv("SUDO_UID")
	if id == "" || os.Geteuid() != 0 {
		home, err = os.UserHomeDir()
		return nil, home, err
	}
	u, err := user.LookupId(id)
	if err != nil {
		return nil, "", fmt.Errorf("user of SUDO_UID: %w", err)
	}
	owner = &Owner{}
	if owner.UID, err = strconv.Atoi(u.Uid); err == nil {
		owner.GID, err = strconv.Atoi(u.Gid)
	}
	return owner, u.HomeDir, err
}

// change reads, changes and writes the file, under kubectl's lock. It is written
// only if something has changed, and is whole at any moment.
func (f File) change(change func(*clientcmdapi.Config) error) error {
	if target, err := filepath.EvalSymlinks(f.Path); err == nil {
		f.Path = target // the link stays
	}
	if f.Create {
		if err := f.makeFolder(filepath.Dir(f.Path)); err != nil {
			return err
		}
	}
	unlock, err := f.lock()
	if err != nil {
		return err
	}
	defer unlock()
	config, err := clientcmd.LoadFromFile(f.Path)
	if errors.Is(err, fs.ErrNotExist) && f.Create {
		config, err = clientcmdapi.NewConfig(), nil
	}
	if err != nil {
		return err
	}
	before, err := clientcmd.Write(*config)
	if err != nil {
		return err
	}
	if err := change(config); err != nil {
		return err
	}
	text, err := clientcmd.Write(*config)
	if err != nil || bytes.Equal(before, text) {
		return err
	}
	return f.write(text)
}

// lock is the one that kubectl config takes.
func (f File) lock() (unlock func(), err error) {
	path := f.Path + ".lock"
	lock, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("%s is there: somebody else is changing the file; remove it if nobody is", path)
	}
	if err != nil {
		return nil, err
	}
	return func() { _ = os.Remove(path) }, lock.Close()
}

// makeFolder makes a folder, and those above it, for the owner.
func (f File) makeFolder(dir string) error {
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := f.makeFolder(filepath.Dir(dir)); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o750); err != nil {
		return err
	}
	return f.give(dir)
}

func (f File) give(path string) error {
	if f.Owner == nil {
		return nil
	}
	return os.Lchown(path, f.Owner.UID, f.Owner.GID)
}

// write replaces the file at once; mode and owner stay.
func (f File) write(text []byte) error {
	return wholefile.Fill(f.Path, func(next *os.File) error {
		_, err := next.Write(text)
		return errors.Join(err, f.likeBefore(next.Name()))
	})
}

// likeBefore gives a new file the mode and the owner of the old one.
func (f File) likeBefore(next string) error {
	old, err := os.Stat(f.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return f.give(next)
	}
	if err != nil {
		return err
	}
	if err := os.Chmod(next, old.Mode().Perm()); err != nil {
		return err
	}
	owner := old.Sys().(*syscall.Stat_t)
	if int(owner.Uid) == os.Geteuid() && int(owner.Gid) == os.Getegid() {
		return nil
	}
	return os.Lchown(next, int(owner.Uid), int(owner.Gid))
}
