// Package kernellog reads the kernel's log: its records, and which process it has killed
// because a container's memory was used up.
package kernellog

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// Device is where the kernel's log can be read, a record at a time.
const Device = "/dev/kmsg"

// Longest is the size of the kernel's longest record, in bytes.
const Longest = 8192

// Message is what a record says, without what the kernel knows of it: numbers up to a
// semicolon, and lines of keys and values behind.
func Message(record string) string {
	_, text, _ := strings.Cut(record, ";")
	text, _, _ = strings.Cut(text, "\n")
	return text
}

// Messages are all that the kernel's log has now, oldest first.
func Messages() ([]string, error) {
	fd, err := unix.Open(Device, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open the kernel's log: %w", err)
	}
	defer func() { _ = unix.Close(fd) }() // only read
	return messages(func(p []byte) (int, error) { return unix.Read(fd, p) })
}

// messages reads until nothing more is there. A record that was overwritten before it was
// read is left out.
func messages(read func([]byte) (int, error)) (list []string, err error) {
	record := make([]byte, Longest)
	for {
		n, err := read(record)
		switch {
		case errors.Is(err, unix.EPIPE), errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EAGAIN), errors.Is(err, io.EOF):
			return list, nil
		case err != nil:
			return list, &os.PathError{Op: "read", Path: Device, Err: err}
		case n == 0:
			return list, nil
		}
		list = append(list, Message(string(record[:n])))
	}
}
