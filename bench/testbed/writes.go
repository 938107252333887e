package testbed

import (
	"context"
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

// add counts one line of the audit log.
func (w *Writes) add(e AuditEvent) {
	switch e.Request() {
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
	begin, err := AuditSize(s.Plane)
	if err != nil {
		return w, err
	}
	if err := do(); err != nil {
		return w, err
	}
	if err := Sleep(ctx, settleTime); err != nil {
		return w, err
	}
	err = AuditSince(s.Plane, begin, func(e AuditEvent) {
		if e.User.Username == "system:node:"+s.Member.Name {
			w.add(e)
		}
	})
	return w, err
}
