package testbed

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"
)

// Writes are how often a node has written to the API server, by what was written.
type Writes struct {
	Status        int // statuses of pods
	Deletes       int // of pods
	EventsCreated int
	EventsCounted int // patches of events that the API had already
	Leases        int
	Nodes         int // the Node and its status
	Tokens        int // of service accounts, for volumes
	Others        int
}

// PerPod are all that a pod's life causes, but for its tokens.
func (w Writes) PerPod() int { return w.Status + w.Deletes + w.EventsCreated + w.EventsCounted }

// Plus returns the sum of both.
func (w Writes) Plus(o Writes) Writes {
	return Writes{
		w.Status + o.Status, w.Deletes + o.Deletes, w.EventsCreated + o.EventsCreated, w.EventsCounted + o.EventsCounted,
		w.Leases + o.Leases, w.Nodes + o.Nodes, w.Tokens + o.Tokens, w.Others + o.Others,
	}
}

// auditEvent is what counts of a line of the audit log.
type auditEvent struct {
	Verb      string
	User      struct{ Username string }
	ObjectRef struct{ Resource, Subresource string }
}

// add counts one line of the audit log.
func (w *Writes) add(e auditEvent) {
	switch e.ObjectRef.Resource + "/" + e.ObjectRef.Subresource + " " + e.Verb {
	case "pods/status patch", "pods/status update":
		w.Status++
	case "pods/ delete":
		w.Deletes++
	case "events/ create":
		w.EventsCreated++
	case "events/ patch", "events/ update":
		w.EventsCounted++
	case "serviceaccounts/token create":
		w.Tokens++
	default:
		switch e.ObjectRef.Resource {
		case "leases":
			w.Leases++
		case "nodes":
			w.Nodes++
		default:
			w.Others++
		}
	}
}

// settleTime is how long after the last thing that happened to a pod its writes are awaited: longer than
// any node waits before it tells of an event.
const settleTime = 15 * time.Second

// CountWrites does something, waits until the node has written all of it, and returns what it
// has written since the beginning. Config.Audit must be set.
func (s *Side) CountWrites(ctx context.Context, do func() error) (w Writes, err error) {
	begin, err := s.auditSize()
	if err != nil {
		return w, err
	}
	if err := do(); err != nil {
		return w, err
	}
	if err := Sleep(ctx, settleTime); err != nil {
		return w, err
	}
	return s.writesSince(begin)
}

// auditSize is where the next line of the audit log will be.
func (s *Side) auditSize() (int64, error) {
	info, err := os.Stat(s.Plane.AuditLog())
	if err != nil {
		return 0, fmt.Errorf("audit log: %w", err)
	}
	return info.Size(), nil
}

func (s *Side) writesSince(begin int64) (w Writes, err error) {
	file, err := os.Open(s.Plane.AuditLog())
	if err != nil {
		return w, err
	}
	defer file.Close()
	if _, err := file.Seek(begin, io.SeekStart); err != nil {
		return w, err
	}
	for lines := bufio.NewReader(file); ; {
		line, err := lines.ReadBytes('\n')
		if err != nil { // what comes after the last newline is half a line
			return w, nil
		}
		var e auditEvent
		if err := json.Unmarshal(line, &e); err != nil {
			return w, fmt.Errorf("audit log: %w", err)
		}
		if e.User.Username == "system:node:"+s.Member.Name {
			w.add(e)
		}
	}
}
