package filters

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/containerd/containerd/v2/pkg/atomicfile"
	"github.com/opencontainers/runc/libcontainer/configs"
	"golang.org/x/sys/unix"
)

// most is how many filters are kept. Those of containers differ by their profiles and capabilities, of
// which a machine has few.
const most = 128

// Cache is a folder of filters, for one build of this program. It is made when the first one is kept.
type Cache string

// Provide lays the filter of a profile into the bundle of a container that is about to be made. After an error
// there is none, and the container's process has it made.
func (c Cache) Provide(bundle string, profile *configs.Seccomp) error {
	if profile == nil {
		return nil
	}
	name, err := nameOf(profile)
	if err != nil {
		return err
	}
	path := filepath.Join(string(c), name)
	filter := read(path)
	if filter == nil {
		if filter, err = compile(profile); err != nil {
			return err
		}
		_ = c.keep(path, filter) // it is made again for the next container
	}
	return os.WriteFile(filepath.Join(bundle, fileName), filter, 0o600)
}

// nameOf has all that a filter depends on besides this program: libseccomp asks the kernel what it can do.
func nameOf(profile *configs.Seccomp) (string, error) {
	text, err := json.Marshal(profile)
	if err != nil {
		return "", fmt.Errorf("name a seccomp filter: %w", err)
	}
	var kernel unix.Utsname
	if err := unix.Uname(&kernel); err != nil {
		return "", fmt.Errorf("name a seccomp filter: %w", err)
	}
	sum := sha256.Sum256(append(text, kernel.Release[:]...))
	return hex.EncodeToString(sum[:]), nil
}

// read returns nil if there is no filter, or if it is damaged: it begins with its digest.
func read(path string) []byte {
	text, err := os.ReadFile(path)
	if err != nil || len(text) <= sha256.Size {
		return nil
	}
	digest, filter := text[:sha256.Size], text[sha256.Size:]
	if sum := sha256.Sum256(filter); !bytes.Equal(digest, sum[:]) {
		return nil
	}
	return filter
}

func (c Cache) keep(path string, filter []byte) error {
	kept, err := os.ReadDir(string(c))
	if errors.Is(err, os.ErrNotExist) {
		err = os.Mkdir(string(c), 0o700)
	}
	if err != nil {
		return err
	}
	if len(kept) >= most {
		for _, old := range kept {
			_ = os.Remove(filepath.Join(string(c), old.Name())) // another shim may have
		}
	}
	file, err := atomicfile.New(path, 0o600)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(filter)
	if _, err := file.Write(append(sum[:], filter...)); err != nil {
		return errors.Join(err, file.Cancel())
	}
	return file.Close()
}
