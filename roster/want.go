package roster

import (
	"maps"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"k8s.io/apimachinery/pkg/types"

	"github.com/lifepod/lifepod/lifecycle"
)

// mirrorPatience is how long static pods that run already wait for the API to tell
// what the cluster knows of them. They must do without it: it may be such a pod that
// serves the API.
const mirrorPatience = 10 * time.Second

// open resumes the pods of the previous agent this one, whether the sources can be
// heard or not. After a reboot pods of the API wait for it to be heard, however often
// the agent starts before that: they may have been given to another node meanwhile
// (B-RST-11).
func (m *Machine) open(f Opened) {
	m.opened, m.rebooted = true, f.Rebooted
	if m.options.API {
		m.awaitsAPI = m.now.Add(mirrorPatience)
	}
	for _, found := range f.Found {
		m.found[found.UID] = found
	}
	for _, r := range f.Remembered {
		p := &pod{uid: r.Pod.UID, source: r.Source, newest: r.Pod, remembered: &r}
		m.pods[p.uid] = p
		m.do(Know{Source: p.source, Pod: p.newest})
		if !m.rebooted || p.source != API {
			m.begin(p)
		}
	}
	if n := len(f.Remembered); n > 0 {
		m.do(Report{Report: lifecycle.Report{
			Subject: "node", What: "resumes the pods of the previous agent", Because: counted(n), Rule: "B-RST-1",
		}})
	}
}

// wanted takes a pod of a source as it is now.
func (m *Machine) wanted(f Wanted) {
	p, before := m.pods[f.Pod.UID], (*v1.Pod)(nil)
	if p == nil {
		p = &pod{uid: f.Pod.UID}
		m.pods[p.uid] = p
	} else {
		before = p.newest
	}
	stays := !p.wanted && p.holds() // others may wait for its place
	p.again = p.again || !p.wanted && p.left
	p.source, p.newest, p.wanted = f.Source, f.Pod, true
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

// unwanted takes that a source has a pod no longer (B-WRK-2). Its mirror pod stays
// until it has ended (B-STA-5).
func (m *Machine) unwanted(uid types.UID) {
	p := m.pods[uid]
	if p == nil {
		return
	}
	p.wanted, p.again = false, false
	if m.allHeard() {
		m.leave(p)
	}
}

// sourceHeard takes that a source has told all that it had. Its pods begin in the order
// of their creation (A-SYNC-1); after the last source what nobody wants is ended.
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

func (m *Machine) allHeard() bool {
	return m.opened && !slices.ContainsFunc(m.options.Sources, func(s Source) bool { return !m.heard[s] })
}

// endUnwanted ends what no source wants, once all were heard (B-RST-3, B-RST-11):
// pods of an agent before, and those that only the runtime has.
func (m *Machine) endUnwanted() {
	for _, p := range m.inOrder(func(p *pod) bool { return !p.wanted }) {
		m.leave(p)
	}
	for _, uid := range slices.Sorted(maps.Keys(m.found)) {
		found := m.found[uid]
		if m.pods[uid] != nil { // which takes it over when it begins
			continue
		}
		p := &pod{uid: uid, source: Runtime, newest: found.pod()}
		m.pods[uid] = p
		m.do(Know{Source: p.source, Pod: p.newest})
		m.report(p, lifecycle.Report{What: "is ended", Because: "nobody wants it", Rule: "B-WRK-21"})
		m.look(p)
	}
}

// pod is a stand-in for the pod that was: names are all that is known of it.
func (f Found) pod() *v1.Pod {
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

// leave ends a pod that its source has no longer, with the grace that was known
// last (B-WRK-22).
func (m *Machine) leave(p *pod) {
	switch {
	case p.position == Living:
		p.position, p.left = Leaving, true
		m.do(Tell{UID: p.uid, Fact: lifecycle.StopRequested{
			GraceSeconds: p.newest.DeletionGracePeriodSeconds, Because: "its source has it no longer",
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
