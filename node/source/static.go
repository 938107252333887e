package source

import (
	"fmt"
	"maps"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/roster"
)

// staticPods are the pods that a source of static pods has said it wants.
type staticPods struct {
	origin roster.Source
	feed   Feed
	wanted map[types.NamespacedName]*v1.Pod
}

func newStaticPods(origin roster.Source, feed Feed) *staticPods {
	return &staticPods{origin: origin, feed: feed, wanted: map[types.NamespacedName]*v1.Pod{}}
}

// become tells the difference to pods, of which no two share a name: what goes first, then what comes. A
// pod that hasn't changed stays the object that it was.
func (s *staticPods) become(pods []*v1.Pod) {
	uids := map[types.NamespacedName]types.UID{}
	for _, pod := range pods {
		uids[nameOf(pod)] = pod.UID
	}
	before := s.wanted
	s.wanted = make(map[types.NamespacedName]*v1.Pod, len(pods))
	for _, name := range slices.SortedFunc(maps.Keys(before), compareNames) {
		if uid := before[name].UID; uids[name] != uid {
			s.feed.Unwanted(s.origin, uid)
		}
	}
	for _, pod := range pods {
		name := nameOf(pod)
		was := before[name]
		if was == pod {
			s.wanted[name] = was
			continue
		}
		marked := *pod // what was told before may be in use
		pod = &marked
		mark(pod, was, s.origin)
		if was != nil && was.UID == pod.UID && equality.Semantic.DeepEqual(was, pod) {
			s.wanted[name] = was
			continue
		}
		s.wanted[name] = pod
		s.feed.Wanted(s.origin, pod)
	}
}

// unique tells whether a pod may stand beside those before it, which it joins then.
type unique struct {
	names map[types.NamespacedName]string // and where they come from
	uids  map[types.UID]string
}

// nameTaken is the error of a pod whose name another one has.
type nameTaken struct {
	name  types.NamespacedName
	place string // of the other one
}

func (e nameTaken) Error() string {
	return fmt.Sprintf("pod %s is in %s already; a name is for one pod of the node", e.name, e.place)
}

// Record records an event about a pod that a source ignores.
type Record func(pod *v1.Pod, at time.Time, event lifecycle.RecordEvent)

// duplicates are the pods that a source ignores because another one has their name.
type duplicates struct {
	origin   roster.Source
	record   Record // nil: nobody wants to know
	reported []types.UID
}

// become records an event about each one that was none before (A-EVT-6).
func (d *duplicates) become(pods []*v1.Pod) {
	before := d.reported
	d.reported = nil
	for _, pod := range pods {
		d.reported = append(d.reported, pod.UID)
		if d.record == nil || slices.Contains(before, pod.UID) {
			continue
		}
		d.record(pod, time.Now(), lifecycle.RecordEvent{
			Type: v1.EventTypeWarning, Reason: "FailedValidation",
			Message: fmt.Sprintf("Error validating pod %s_%s(%s) from %s due to duplicate pod name %q, ignoring", pod.Name, pod.Namespace, pod.UID, d.origin, pod.Name),
		})
	}
}

func newUnique() unique {
	return unique{names: map[types.NamespacedName]string{}, uids: map[types.UID]string{}}
}

func (u unique) join(pod *v1.Pod, place string) error {
	name := nameOf(pod)
	if other, found := u.names[name]; found {
		return nameTaken{name, other}
	}
	if other, found := u.uids[pod.UID]; found {
		return fmt.Errorf("pod %s has the UID %s of a pod in %s; leave metadata.uid out", name, pod.UID, other)
	}
	u.names[name], u.uids[pod.UID] = place, place
	return nil
}
