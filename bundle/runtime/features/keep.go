package features

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"slices"

	"github.com/containerd/containerd/v2/pkg/atomicfile"
	"golang.org/x/sys/unix"
)

// folder has the answers. It lies beside the folder of the shim's program; tell.c has the same name.
const folder = "features"

// keep writes down what is answered about options, for the shim whose program is in that folder. One file holds
// the hash of what follows it, the question (the options and the kernel's release) and the answer.
func keep(programs string, options, answer []byte) error {
	var kernel unix.Utsname
	if err := unix.Uname(&kernel); err != nil {
		return fmt.Errorf("keep a runtime's features: %w", err)
	}
	question := append(slices.Clone(options), unix.ByteSliceToString(kernel.Release[:])...)
	text := slices.Concat(question, answer)
	dir := filepath.Join(filepath.Dir(programs), folder)
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	file, err := atomicfile.New(filepath.Join(dir, fmt.Sprintf("%016x", hash(question))), 0o600)
	if err != nil {
		return err
	}
	if _, err := file.Write(append(binary.NativeEndian.AppendUint64(nil, hash(text)), text...)); err != nil {
		return errors.Join(err, file.Cancel())
	}
	return file.Close()
}

func hash(text []byte) uint64 {
	h := fnv.New64a()
	_, _ = h.Write(text)
	return h.Sum64()
}
