package pods

import (
	"context"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/roster"
)

// server is a pretended API server. Only the queue's goroutine uses it.
type server struct {
	queue    *walkQueue
	objects  map[types.UID]*v1.Pod
	versions map[types.UID][]*v1.Pod // each that there was
	cut      bool                    // the node does not reach it
	node     *client                 // the agent of now; nil: there is none
}

func newServer(queue *walkQueue) *server {
	return &server{queue: queue, objects: map[types.UID]*v1.Pod{}, versions: map[types.UID][]*v1.Pod{}}
}

// put stores a version of a pod, which the node is told.
func (s *server) put(pod *v1.Pod) {
	s.objects[pod.UID] = pod
	s.versions[pod.UID] = append(s.versions[pod.UID], pod)
	s.node.watches(roster.Wanted{Source: roster.API, Pod: pod})
}

// change makes the next version of a pod, if there is one.
func (s *server) change(uid types.UID, by func(pod *v1.Pod)) {
	if pod := s.objects[uid]; pod != nil {
		pod = pod.DeepCopy()
		by(pod)
		s.put(pod)
	}
}

// respec is change of what counts as a new generation.
func (s *server) respec(uid types.UID, by func(pod *v1.Pod)) {
	s.change(uid, func(pod *v1.Pod) {
		pod.Generation++
		by(pod)
	})
}

// deletes marks a pod as being deleted; a later request can only shorten its grace.
func (s *server) deletes(uid types.UID, seconds int64) {
	pod := s.objects[uid]
	if pod == nil || pod.DeletionGracePeriodSeconds != nil && *pod.DeletionGracePeriodSeconds <= seconds {
		return
	}
	s.respec(uid, func(pod *v1.Pod) {
		at := time.Now()
		if pod.DeletionTimestamp != nil {
			at = pod.DeletionTimestamp.Add(-time.Duration(*pod.DeletionGracePeriodSeconds) * time.Second)
		}
		pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = &metav1.Time{Time: at.Add(time.Duration(seconds) * time.Second)}, &seconds
	})
}

// removes has an object no longer.
func (s *server) removes(uid types.UID) {
	if s.objects[uid] != nil {
		delete(s.objects, uid)
		s.node.watches(roster.Unwanted{UID: uid})
	}
}

// heals lets the node reach it again: each hears what the other had to tell.
func (s *server) heals() {
	if !s.cut {
		return
	}
	s.cut = false
	if s.node == nil {
		return
	}
	if s.node.unlisted {
		s.node.lists(newest)
	}
	for _, fact := range s.node.held {
		s.node.hears(fact)
	}
	s.node.held = nil
	for _, uid := range slices.Sorted(maps.Keys(s.node.unsent)) {
		s.writes(s.node.unsent[uid])
	}
	clear(s.node.unsent)
}

// writes stores what the node tells of a pod, and deletes its object if nothing is left of it.
func (s *server) writes(t sentStatus) {
	s.change(t.pod.UID, func(pod *v1.Pod) { pod.Status = t.status })
	if object := s.objects[t.pod.UID]; t.last && object != nil && object.DeletionTimestamp != nil {
		s.removes(t.pod.UID)
	}
}

// travels tells the node an older version of an object, as a replica of the API server may that is behind, and then what there is.
func (s *server) travels(uid types.UID, n int) {
	now, versions := s.objects[uid], s.versions[uid]
	if now == nil || s.node == nil || s.cut { // nobody remembers a pod that is gone
		return
	}
	s.node.watches(roster.Wanted{Source: roster.API, Pod: versions[n%len(versions)]})
	s.node.watches(roster.Wanted{Source: roster.API, Pod: now})
}

// client is an agent's connection to the API server. It ends with its agent: what it had not reported is lost.
type client struct {
	server    *server
	shell     *Shell
	dead      atomic.Bool
	unlisted  bool                     // it has not told its list yet
	held      []roster.Fact            // to the agent, while it is cut off
	unsent    map[types.UID]sentStatus // from the agent, while it is cut off
	laws      *nodeLaws
	reclaimer walkReclaimer
}

// the API server, as whom requests are delivered to, and its watch, which the node reads.
const (
	requests types.UID = "API server"
	watch    types.UID = "watch"
)

// watches has the agent told something.
func (c *client) watches(fact roster.Fact) {
	switch {
	case c == nil:
	case c.unlisted: // the list has it
	case c.server.cut:
		c.held = append(c.held, fact)
	default:
		c.hears(fact)
	}
}

func (c *client) hears(fact roster.Fact) {
	c.server.queue.Deliver(watch, fact, func() {
		if c.dead.Load() {
			return
		}
		switch f := fact.(type) {
		case roster.Wanted:
			c.shell.Wanted(f.Source, f.Pod)
		case roster.Unwanted:
			c.shell.Unwanted(roster.API, f.UID)
		case roster.SourceHeard:
			c.shell.Heard(f.Source)
		}
	})
}

// newest is the last version of a pod.
func newest(versions []*v1.Pod) *v1.Pod { return versions[len(versions)-1] }

// lists tells a new agent what there is, as soon as it reaches the server; of each pod stale may choose an older version first.
func (c *client) lists(stale func(versions []*v1.Pod) *v1.Pod) {
	if c.unlisted = c.server.cut; c.unlisted {
		return
	}
	uids := slices.Sorted(maps.Keys(c.server.objects))
	for _, uid := range uids {
		c.watches(roster.Wanted{Source: roster.API, Pod: stale(c.server.versions[uid])})
	}
	c.watches(roster.SourceHeard{Source: roster.API})
	for _, uid := range uids {
		c.watches(roster.Wanted{Source: roster.API, Pod: c.server.objects[uid]})
	}
}

// sentStatus is a status on its way; last: nothing is left of the pod.
type sentStatus struct {
	pod    *v1.Pod
	status v1.PodStatus
	last   bool
}

// sends has a status arrive. While the server can't be reached, the newest one counts, and that one of the pod was the last.
func (c *client) sends(t sentStatus) {
	if c.dead.Load() {
		return
	}
	c.server.queue.Deliver(requests, t, func() {
		switch {
		case c.dead.Load():
		case c.server.cut:
			t.last = t.last || c.unsent[t.pod.UID].last
			c.unsent[t.pod.UID] = t
		default:
			c.server.writes(t)
		}
	})
}

// Set is Statuses'.
func (c *client) Set(pod *v1.Pod, _ string, status v1.PodStatus, _ func(error)) {
	if !c.dead.Load() {
		c.laws.checkStatus(pod, &status)
	}
	c.sends(sentStatus{pod: pod, status: status})
}

// Delete is Statuses'.
func (c *client) Delete(pod *v1.Pod, status v1.PodStatus) {
	if !c.dead.Load() {
		c.laws.deletes(pod)
	}
	c.sends(sentStatus{pod, status, true})
}

// The rest of what an agent tells an API server is of no consequence here.

func (*client) Annotate(*v1.Pod, map[string]string)           {}
func (*client) Forget(types.UID)                              {}
func (*client) AwaitSent(context.Context)                     {}
func (*client) Pod(*v1.Pod, time.Time, lifecycle.RecordEvent) {}
func (*client) Register(*v1.Pod)                              {}
func (*client) Unregister(types.UID)                          {}
func (*client) Want(*v1.Pod)                                  {}
func (*client) Unwant(types.UID)                              {}
func (*client) AllHeard()                                     {}
func (*client) Of(types.UID) *v1.Pod                          { return nil }
