package backup

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/lifepod/lifepod/internal/rootfolder"
)

// lockName is the lock that lifepod up holds, in the data folder.
const lockName = "up.lock"

// ErrRunning says that a cluster runs on the data folder, or is being restored.
var ErrRunning = errors.New("a cluster runs on it")

// Hold keeps others from running a cluster on a data folder, or restoring one,
// until release is called or the process ends. It fails with ErrRunning.
func Hold(data string) (release func(), err error) {
	if err := rootfolder.Ensure(data, 0o700); err != nil {
		return nil, fmt.Errorf("lock %s: %w", data, err)
	}
	file, err := os.OpenFile(filepath.Join(data, lockName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", data, err)
	}
	err = unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		pid, _ := os.ReadFile(file.Name())
		err = fmt.Errorf("%w (process %s): end that first", ErrRunning, strings.TrimSpace(string(pid)))
	}
	if err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("%s: %w", data, err)
	}
	err = file.Truncate(0)
	if err == nil { // for Holder
		_, err = file.WriteString(strconv.Itoa(os.Getpid()))
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", data, err), file.Close())
	}
	return func() { _ = file.Close() }, nil
}

// Holder is the process that runs a cluster on a data folder, or restores one; 0 if none does.
func Holder(data string) (int, error) {
	file, err := os.Open(filepath.Join(data, lockName))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer func() { _ = file.Close() }() // only read
	if unix.Flock(int(file.Fd()), unix.LOCK_SH|unix.LOCK_NB) == nil {
		return 0, nil
	}
	text, err := io.ReadAll(file)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(string(text)))
}
