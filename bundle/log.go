package bundle

import (
	"bytes"
	"fmt"
	"os"
)

// maxLogBytes is the size from which containerd's log is rotated. One older
// file is kept.
const maxLogBytes = 8 << 20

// openLog opens the log for containerd, rotated if it has become too long.
func openLog(path string) (*os.File, error) {
	if info, err := os.Stat(path); err == nil && info.Size() > maxLogBytes {
		if err := os.Rename(path, path+".1"); err != nil {
			return nil, fmt.Errorf("rotate containerd's log: %w", err)
		}
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open containerd's log: %w", err)
	}
	return f, nil
}

// trimLog bounds the log of a containerd that runs for long: it has the file
// open for appending, so that the file can only be copied and emptied.
func trimLog(path string) error {
	info, err := os.Stat(path)
	if err != nil || info.Size() <= maxLogBytes {
		return err
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := os.WriteFile(path+".1", text, 0o600); err != nil {
		return err
	}
	return os.Truncate(path, 0)
}

// logTail is the end of what was logged after offset, for an error message.
func logTail(path string, offset int64) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	if offset <= int64(len(text)) {
		text = text[offset:]
	}
	const most = 12
	lines := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
	if len(lines) > most {
		lines = lines[len(lines)-most:]
	}
	return string(bytes.Join(lines, []byte("\n")))
}
