package roster

import (
	"cmp"
	"maps"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/roster/admit"
)

// mirrorPatience limits how long running static pods wait for their status from the API.
// The wait must end, because the API server may be one of these pods.
const mirrorPatience = 10 * time.Second

// open resumes the previous agent's pods, whether or not the sources are reachable. After
// a reboot, pods of the API wait until the API is heard, however often the agent restarts
// before: they may have moved to another node (B-RST-21).
func (m *Machine) open(f Opened) {
	m.opened, m.rebooted = true, f.Rebooted
	if m.options.API {
		m.awaitsAPI = m.now.Add(mirrorPatience)
	}
	for _, found := range f.Found {
		m.found[found.UID] = found
	}
	for _, r := range f.Remembered {
		if f.Rebooted && r.endedByShutdown() {
			m.do(Forget{UID: r.Pod.UID})
			m.do(Discard{Pod: r.Pod})
			continue
		}
		p := &pod{uid: r.Pod.UID, source: r.Source, newest: r.Pod, remembered: &r}
		add(m, p)
		m.do(Know{Source: p.source, Pod: p.newest})
		if !m.rebooted || p.source != API {
			with(m, p, m.begin)
		}
	}
	if n := len(f.Remembered); n > 0 {
		m.do(Report{Words: lifecycle.Words{
			Subject: "node", What: "resumes the pods of the previous agent", Because: counted(n), Rule: "B-RST-1",
		}})
	}
}

// add adds a pod that is new.
func add(m *Machine, p *pod) {
	m.pods[p.uid] = p
	m.books.order.add(p)
	with(m, p, func(*pod) {})
}

// wanted records a source's current object of a pod.
func (m *Machine) wanted(f Wanted) {
	p := m.pods[f.Pod.UID]
	if p == nil {
		p = &pod{uid: f.Pod.UID, newest: f.Pod}
		add(m, p)
		with(m, p, func(p *pod) { wants(m, p, nil, f) })
		return
	}
	with(m, p, func(p *pod) { wants(m, p, p.newest, f) })
}

// wants records what a source now has of a pod; before is nil for one that is new.
func wants(m *Machine, p *pod, before *v1.Pod, f Wanted) {
	m.books.order.remove(p) // a static pod may say that it was created at another time

	if message := admit.UndeclaredForUpdate(before, f.Pod, m.node); p.wanted && message != "" { // A-EVT-6
		m.do(PodEvent{Pod: f.Pod, Event: lifecycle.RecordEvent{Type: v1.EventTypeWarning, Reason: "FailedNodeDeclaredFeaturesCheck", Message: message}})
	}
	stays := !p.wanted && p.holds() // others may wait for its place
	p.again = p.again || !p.wanted && p.left
	p.source, p.newest, p.wanted = f.Source, f.Pod, true
	m.books.order.add(p)
	m.do(Know{Source: p.source, Before: before, Pod: p.newest})
	switch {
	case p.position == Living:
		m.do(Tell{UID: p.uid, Fact: lifecycle.PodUpdated{Pod: p.newest}})
	case p.position == Over:
		m.deleteObject(p)
	case m.heard[p.source]: // else they come in the order of their creation
		m.begin(p)
	}
	if stays {
		m.beginAll()
	}
}

// unwanted records that a source no longer has a pod (B-WRK-2). Its mirror pod stays
// until the pod has ended (B-STA-5).
func (m *Machine) unwanted(uid types.UID) {
	m.ofPod(uid, func(p *pod) {
		p.wanted, p.again = false, false
		if m.allHeard() {
			m.leave(p)
		}
	})
}

// sourceHeard records that a source has listed all its pods. They begin in the order of
// their creation (A-SYNC-1). After the last source, unwanted pods are ended.
func (m *Machine) sourceHeard(source Source) {
	if m.heard[source] {
		return
	}
	m.heard[source] = true
	m.beginAll()
	if m.allHeard() {
		m.endUnwanted()
		m.do(AllHeard{})
	}
}

// recordBoot has the next agent resume its pods at once, as soon as nothing is left of
// those that the API had no longer: it would take them for pods of this boot, and start
// them again (B-RST-21).
func (m *Machine) recordBoot() {
	if !m.rebooted || !m.allHeard() {
		return
	}
	for _, p := range m.books.order {
		if p.orphan && !p.wanted {
			return
		}
	}
	m.rebooted = false
	m.do(RecordBoot{})
}

func (m *Machine) allHeard() bool {
	return m.opened && !slices.ContainsFunc(m.options.Sources, func(s Source) bool { return !m.heard[s] })
}

// endUnwanted ends the pods that no source wants, once all sources were heard (B-RST-3,
// B-RST-11): those of a previous agent, and those that only the runtime has.
func (m *Machine) endUnwanted() {
	for _, p := range m.inOrder(func(p *pod) bool { return !p.wanted }) {
		p.orphan = p.source == API
		with(m, p, m.leave)
	}
	for _, uid := range slices.Sorted(maps.Keys(m.found)) {
		if m.pods[uid] == nil { // else it takes it over when it begins
			endFound(m, m.found[uid])
		}
	}
}

// endFound ends a pod that only the runtime has.
func endFound(m *Machine, found Found) {
	p := &pod{uid: found.UID, source: Runtime, newest: found.StandIn()}
	add(m, p)
	m.do(Know{Source: p.source, Pod: p.newest})
	m.report(p, lifecycle.Words{What: "is ended", Because: "nobody wants it", Rule: "B-WRK-21"})
	with(m, p, m.look)
}

// foundLater ends the containers and sandboxes of a pod that should have none. A pod that has not begun takes them over.
// Those that no agent of this node has made are left alone: they belong to another program, such as a kubelet with the same runtime.
func foundLater(m *Machine, found Found) {
	switch p := m.pods[found.UID]; {
	case p == nil && found.Ours && m.allHeard():
		endFound(m, found)
	case p == nil:
	case p.position == Unheard, p.position == Waiting:
		m.found[found.UID] = found
	case p.position == Over:
		m.report(p, lifecycle.Words{What: "is ended", Because: "it has ended, and the runtime has something of it again", Rule: "B-WRK-21"})
		with(m, p, m.look)
	}
}

// StandIn is a pod of which only names are known.
func (f Found) StandIn() *v1.Pod {
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: f.Namespace, Name: f.Name, UID: f.UID}}
	pod.Spec.TerminationGracePeriodSeconds = new(int64(1)) // B-WRK-21
	pod.Spec.RestartPolicy = v1.RestartPolicyNever
	seen := map[string]bool{}
	for _, c := range f.Seen.Containers {
		if !seen[c.Name] {
			pod.Spec.Containers = append(pod.Spec.Containers, v1.Container{Name: c.Name})
		}
		seen[c.Name] = true
	}
	return pod
}

// leave ends a pod that its source no longer has, with its last known grace period
// (B-WRK-22).
func (m *Machine) leave(p *pod) {
	switch {
	case p.position == Living:
		p.position, p.left = Leaving, true
		m.do(Tell{UID: p.uid, Fact: lifecycle.StopRequested{
			GraceSeconds: p.newest.DeletionGracePeriodSeconds, Because: lifecycle.Because{Kind: "its-source-has-it-no-longer"},
		}})
	case p.remembered != nil:
		m.begin(p) // to be ended: containers of an agent before may run
	case p.begun(): // it leaves already, or as soon as it is known what there is of it
	case m.wasFound(p):
		m.look(p) // to be ended
	default: // it has not begun, or is over
		m.drop(p)
	}
}

// order are pods in the order of their creation, in which they begin (A-SYNC-1).
type order []*pod

// earlier compares pods by their creation. No two pods are equal.
func earlier(a, b *pod) int {
	return cmp.Or(
		a.newest.CreationTimestamp.Compare(b.newest.CreationTimestamp.Time),
		cmp.Compare(a.newest.Name, b.newest.Name), cmp.Compare(a.uid, b.uid),
	)
}

func (o *order) add(p *pod) {
	at, _ := slices.BinarySearchFunc(*o, p, earlier)
	*o = slices.Insert(*o, at, p)
}

// remove takes a pod out. What it is sorted by must be as it was when it was added.
func (o *order) remove(p *pod) {
	if at, there := slices.BinarySearchFunc(*o, p, earlier); there {
		*o = slices.Delete(*o, at, at+1)
	}
}

// Source is where a pod comes from, as the annotation kubernetes.io/config.source
// names it (B-STA-2).
type Source string

// The sources of pods.
const (
	API  Source = "api"
	File Source = "file"
	URL  Source = "http"
	// Runtime marks a pod that only the runtime has and no source wants (B-WRK-21).
	Runtime Source = "runtime"
)

// HashAnnotation has the hash of a static pod's manifest.
const HashAnnotation = "kubernetes.io/config.hash"

// Hash returns the hash of a static pod's manifest. It is empty for a pod of the API,
// because anybody can write that pod's annotations.
func (s Source) Hash(pod *v1.Pod) string {
	if !s.Static() {
		return ""
	}
	return pod.Annotations[HashAnnotation]
}

// Static says that the source's pods are static: the API server shows mirror pods of them.
func (s Source) Static() bool { return s == File || s == URL }
