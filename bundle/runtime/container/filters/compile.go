//go:build cgo && seccomp

package filters

// #cgo pkg-config: libseccomp
// #cgo LDFLAGS: -Wl,--wrap=seccomp_rule_add_array -Wl,--wrap=seccomp_rule_add_exact_array -Wl,--wrap=seccomp_export_bpf
// #include "wrap.h"
import "C"

import (
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/opencontainers/runc/libcontainer/configs"
	"github.com/opencontainers/runc/libcontainer/seccomp"
	"golang.org/x/sys/unix"
)

const fileName = C.FILTERS_FILE

var taking sync.Mutex

// compile returns the program that libseccomp makes of a profile. What is wrong with one that it makes
// none of, it says again when the container is made.
func compile(profile *configs.Seccomp) ([]byte, error) {
	memory, err := unix.MemfdCreate(fileName, unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("memory for a seccomp filter: %w", err)
	}
	file := os.NewFile(uintptr(memory), fileName)
	defer func() { _ = file.Close() }() // only memory
	taking.Lock()
	defer taking.Unlock()
	C.filters_take(C.int(memory))
	_, err = seccomp.InitSeccomp(profile) // an error in any case: it gets nothing to load
	if C.filters_taken() == 0 {
		return nil, fmt.Errorf("make a seccomp filter: %w", err)
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	return io.ReadAll(file)
}
