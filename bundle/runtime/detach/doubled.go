//go:build cgo

package detach

// #include "detach.h"
import "C"

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// waits says whether a process waits for the answer.
func waits() bool { return C.detach_answered() >= 0 }

// tellAnswered ends the waiting process, and what binds this one to it. It is to be called on the
// first thread.
func tellAnswered() error {
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("outlive what started the shim: %w", err)
	}
	pipe := os.NewFile(uintptr(C.detach_answered()), "answered")
	_, err := pipe.Write([]byte{1})
	return errors.Join(err, pipe.Close())
}

// name makes args the command line of the process.
func name(args []string) {
	line := []byte(strings.Join(args, "\x00") + "\x00")
	C.detach_name((*C.char)(unsafe.Pointer(&line[0])), C.size_t(len(line)))
}
