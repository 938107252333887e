package roster

import (
	"slices"
	"time"

	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/roster/admit"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
)

// books are what follows from all pods together. Each pod has an entry, which is made anew when the pod may have changed, so
// that a step looks at the pods that it concerns, however many others there are.
type books struct {
	order   order // all pods
	entries map[types.UID]entry
	held    admit.Amounts           // what all pods hold together, but for uncounted ones
	idle    map[types.UID]bool      // pods that have not begun
	asking  map[types.UID]bool      // pods whose resize waits for room
	until   map[types.UID]time.Time // when waits end at the latest

	open    []types.UID // pods that are being changed
	stale   []types.UID // pods that may have changed since the books were brought up to date; those of open are among them
	changed []types.UID // pods that may have changed in this step
	// uncounted are pods that may hold something else by now: that is looked at when a pod is to be admitted.
	uncounted map[types.UID]bool
}

// entry is what the books have of a pod.
type entry struct {
	held admit.Amounts // nil: it holds nothing
	of   account
}

// account is what the held amounts were taken from.
type account struct {
	newest, accepted, granted *v1.Pod
	status                    v1.PodStatus
}

func newBooks() books {
	return books{
		entries: map[types.UID]entry{}, held: admit.Amounts{}, idle: map[types.UID]bool{}, asking: map[types.UID]bool{},
		until: map[types.UID]time.Time{}, uncounted: map[types.UID]bool{},
	}
}

// with does something with a pod. Whatever changes a pod's position, its waits, its objects or its status is done so.
func with(m *Machine, p *pod, do func(*pod)) {
	b := &m.books
	b.open = append(b.open, p.uid)
	b.stale, b.changed = append(b.stale, p.uid), append(b.changed, p.uid)
	do(p)
	b.open = b.open[:len(b.open)-1]
}

// settle brings the books up to date, but for what pods hold.
func settle(m *Machine) {
	b := &m.books
	for _, uid := range b.stale {
		settlePod(m, uid)
	}
	b.stale = append(b.stale[:0], b.open...)
}

func settlePod(m *Machine, uid types.UID) {
	b, p := &m.books, m.pods[uid]
	b.uncounted[uid] = true
	if p == nil {
		delete(b.idle, uid)
		delete(b.asking, uid)
		delete(b.until, uid)
		return
	}
	put(b.idle, uid, !p.begun() && p.position != Over)
	put(b.asking, uid, p.resize.deferred != nil)
	if delete(b.until, uid); !p.until.IsZero() {
		b.until[uid] = p.until
	}
}

// count counts what pods hold that have changed.
func count(m *Machine) {
	settle(m)
	b := &m.books
	for uid := range b.uncounted {
		before := b.entries[uid]
		b.held.Sub(before.held)
		delete(b.entries, uid)
		if p := m.pods[uid]; p != nil {
			now := p.entry(before)
			b.held.Add(now.held)
			b.entries[uid] = now
		}
	}
	b.uncounted = map[types.UID]bool{}
}

func put(set map[types.UID]bool, uid types.UID, in bool) {
	if delete(set, uid); in {
		set[uid] = true
	}
}

// entry is what the books are to have of a pod, of which they had something before.
func (p *pod) entry(before entry) entry {
	if !p.holds() {
		return entry{}
	}
	of := account{p.newest, p.accepted, p.resize.granted, p.status}
	if before.held != nil && before.of.same(&of) {
		return entry{before.held, of}
	}
	return entry{admit.Held(p.allocated()), of}
}

// same says whether as much is held by two accounts.
func (a *account) same(b *account) bool {
	return sameRequests(a.newest, b.newest) && a.accepted == b.accepted && a.granted == b.granted &&
		equality.Semantic.DeepEqual(a.status.AllocatedResources, b.status.AllocatedResources) &&
		equality.Semantic.DeepEqual(a.status.Resources, b.status.Resources) &&
		slices.EqualFunc(a.status.InitContainerStatuses, b.status.InitContainerStatuses, sameResources) &&
		slices.EqualFunc(a.status.ContainerStatuses, b.status.ContainerStatuses, sameResources) &&
		equality.Semantic.DeepEqual(lifecycle.Condition(a.status.Conditions, v1.PodResizePending), lifecycle.Condition(b.status.Conditions, v1.PodResizePending))
}

// sameRequests says whether two versions of a pod ask for the same.
func sameRequests(a, b *v1.Pod) bool {
	same := func(a, b v1.Container) bool {
		return a.Name == b.Name && equality.Semantic.DeepEqual(a.RestartPolicy, b.RestartPolicy) && equality.Semantic.DeepEqual(a.Resources.Requests, b.Resources.Requests)
	}
	return a == b || slices.EqualFunc(a.Spec.InitContainers, b.Spec.InitContainers, same) && slices.EqualFunc(a.Spec.Containers, b.Spec.Containers, same) &&
		equality.Semantic.DeepEqual(a.Spec.Overhead, b.Spec.Overhead) && equality.Semantic.DeepEqual(a.Spec.Resources, b.Spec.Resources)
}

func sameResources(a, b v1.ContainerStatus) bool {
	return a.Name == b.Name && equality.Semantic.DeepEqual(a.AllocatedResources, b.AllocatedResources) && equality.Semantic.DeepEqual(a.Resources, b.Resources)
}

// podsOf lists pods, each once, in the order of their creation, in which they begin (A-SYNC-1).
func podsOf(m *Machine, uids []types.UID) []*pod {
	var list []*pod
	for _, uid := range uids {
		if p := m.pods[uid]; p != nil {
			list = append(list, p)
		}
	}
	slices.SortFunc(list, earlier)
	return slices.Compact(list)
}
