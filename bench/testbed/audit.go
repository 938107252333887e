package testbed

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/lifepod/lifepod/e2e/controlplane"
)

// AuditEvent is what counts of a line of an API server's audit log.
type AuditEvent struct {
	Verb      string
	User      struct{ Username string }
	ObjectRef struct{ Resource, Subresource, Name string }
}

// Request is what was asked for: "pods/status patch", "events/ create".
func (e AuditEvent) Request() string {
	return e.ObjectRef.Resource + "/" + e.ObjectRef.Subresource + " " + e.Verb
}

// AuditSize is where the next line of the audit log will be.
func AuditSize(plane *controlplane.ControlPlane) (int64, error) {
	info, err := os.Stat(plane.AuditLog())
	if err != nil {
		return 0, fmt.Errorf("audit log: %w", err)
	}
	return info.Size(), nil
}

// AuditSince calls each for all lines of the audit log behind begin.
func AuditSince(plane *controlplane.ControlPlane, begin int64, each func(AuditEvent)) error {
	file, err := os.Open(plane.AuditLog())
	if err != nil {
		return err
	}
	defer file.Close()
	if _, err := file.Seek(begin, io.SeekStart); err != nil {
		return err
	}
	for lines := bufio.NewReader(file); ; {
		line, err := lines.ReadBytes('\n')
		if err != nil { // what comes after the last newline is half a line
			return nil
		}
		var e AuditEvent
		if err := json.Unmarshal(line, &e); err != nil {
			return fmt.Errorf("audit log: %w", err)
		}
		each(e)
	}
}
