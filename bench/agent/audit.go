package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/lifepod/lifepod/bench/testbed"
)

// What a node writes: statuses of pods, their deletions, events, patches of events that the API had already, Leases, its Node with its
// status, and tokens of service accounts for volumes.
const (
	statuses, deletions, events, countedEvents = "status", "delete", "events", "counted"
	leases, nodes, tokens, others              = "leases", "nodes", "tokens", "others"
)

// written is how often something was written, by what it was.
type written map[string]int

// perPod are all that a pod's life causes, but for its tokens.
func (w written) perPod() int { return w[statuses] + w[deletions] + w[events] + w[countedEvents] }

func (w written) add(o written) {
	for what, n := range o {
		w[what] += n
	}
}

// requests are those that count, by resource, subresource and verb.
var requests = map[string]string{
	"pods/status patch": statuses, "pods/status update": statuses, "pods/ delete": deletions,
	"events/ create": events, "events/ patch": countedEvents, "events/ update": countedEvents, "serviceaccounts/token create": tokens,
}

// settleTime is how long after the last thing that happened to a pod its writes are awaited: longer than
// any node waits before it tells of an event.
const settleTime = 15 * time.Second

// writesOf does something, waits until the node has written all of it, and returns what it has written since the beginning, by the audit
// log of the API server.
func (s *side) writesOf(ctx context.Context, do func() error) (written, error) {
	file, err := os.Open(s.Plane.AuditLog())
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if _, err := file.Seek(0, io.SeekEnd); err != nil {
		return nil, err
	}
	if err := do(); err != nil {
		return nil, err
	}
	if err := testbed.Sleep(ctx, settleTime); err != nil {
		return nil, err
	}
	w := written{}
	for lines := bufio.NewReader(file); ; {
		line, err := lines.ReadBytes('\n')
		if err != nil { // what comes after the last newline is half a line
			return w, nil
		}
		var e struct {
			Verb      string
			User      struct{ Username string }
			ObjectRef struct{ Resource, Subresource string }
		}
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, fmt.Errorf("audit log: %w", err)
		}
		what, is := requests[e.ObjectRef.Resource+"/"+e.ObjectRef.Subresource+" "+e.Verb]
		switch {
		case e.User.Username != "system:node:"+s.Member.Name:
			continue
		case is:
		case e.ObjectRef.Resource == leases || e.ObjectRef.Resource == nodes:
			what = e.ObjectRef.Resource
		default:
			what = others
		}
		w[what]++
	}
}
