package space

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"github.com/lifepod/lifepod/internal/kernellog"
)

// OOMLog is the kernel's, from the time it is opened on.
type OOMLog struct{ records io.ReadCloser }

// OpenOOMLog opens the kernel's log at its end: what was killed before is no news, and the
// agent before has told of it.
func OpenOOMLog() (*OOMLog, error) {
	file, err := os.Open(kernellog.Device)
	if err != nil {
		return nil, fmt.Errorf("open the kernel's log: %w", err)
	}
	if _, err := file.Seek(0, io.SeekEnd); err != nil {
		return nil, errors.Join(fmt.Errorf("find the end of the kernel's log: %w", err), file.Close())
	}
	return &OOMLog{records: file}, nil
}

// Watch tells of victims until ctx ends, and closes the log.
func (l *OOMLog) Watch(ctx context.Context, tell func(OOMVictim)) error {
	stop := context.AfterFunc(ctx, func() { _ = l.records.Close() })
	defer func() {
		if stop() {
			_ = l.records.Close()
		}
	}()
	var p parser
	record := make([]byte, kernellog.Longest)
	for {
		n, err := l.records.Read(record)
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, unix.EPIPE): // records were overwritten before they were read
			p = parser{}
			continue
		case err != nil:
			return fmt.Errorf("read the kernel's log: %w", err)
		}
		if victim, found := p.next(kernellog.Message(string(record[:n]))); found {
			tell(victim)
		}
	}
}
