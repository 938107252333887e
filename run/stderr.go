package run

import (
	"bufio"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// divert has what is written to standard error, the file descriptor, read line by line, until the
// function is called that it returns: logs of lifepod and of its libraries must not spoil the screen.
// Where that is not possible they do.
func divert(take func(line string)) (end func()) {
	nothing := func() {}
	if take == nil {
		return nothing
	}
	kept, err := unix.FcntlInt(uintptr(unix.Stderr), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nothing
	}
	from, to, err := os.Pipe()
	if err != nil {
		_ = unix.Close(kept)
		return nothing
	}
	if err := unix.Dup3(int(to.Fd()), unix.Stderr, 0); err != nil {
		_, _, _ = unix.Close(kept), from.Close(), to.Close()
		return nothing
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		lines := bufio.NewScanner(from)
		for lines.Scan() {
			take(lines.Text())
		}
	}()
	return func() {
		_ = unix.Dup3(kept, unix.Stderr, 0)
		_ = unix.Close(kept)
		_ = to.Close()                                          // the last that writes,
		_ = from.SetReadDeadline(time.Now().Add(patience / 10)) // but for programs that lifepod has started
		<-read
		_ = from.Close()
	}
}
