package group

import "slices"

// Term is a time in which one node leads a group. Several nodes may believe to lead it: none of them is wrong (B-GRP-27).
type Term struct {
	Leader string `json:"leader"` // UID of the member whose node leads
	ID     string `json:"id"`     // no two times of one leader have the same
	View   int64  `json:"view"`   // rises when members are to confirm what they have announced
}

func (t Term) same(other Term) bool { return t.Leader == other.Leader && t.ID == other.ID }

// Placed is a member as the API server shows it: on which node, and in which version of its pod.
type Placed struct {
	Peer
	Node    string // empty: none yet
	Version uint64
}

// Report is what a node reports of all its members to the leader. It says the whole of it: it may come late, twice, or not at
// all, or be overtaken by a newer one. To join a leader is to report to it, too.
type Report struct {
	Group   string `json:"group"` // namespace/name
	Node    string `json:"node"`
	Term    Term   `json:"term"`
	Version uint64 `json:"version"` // of pods, that a leader has to have seen that the node reports to (B-GRP-27)
	Members []Peer `json:"members"`
}

// Verdict is what the leader tells all nodes: how far the group is.
type Verdict struct {
	Group   string `json:"group"`
	Term    Term   `json:"term"`
	Number  int64  `json:"number"`  // in the term; a later one replaces it
	Version uint64 `json:"version"` // of Report, for those that confirm the view
	// Direct has members go by what the leader tells. Otherwise they go by what their pods show: a node has to be waited for
	// that does not report (B-GRP-28).
	Direct bool  `json:"direct"`
	Peers  Peers `json:"peers"`
}

// Joined is the leader's answer to a node that joins.
type Joined struct {
	Verdict      Verdict  `json:"verdict"`
	Acknowledged []string `json:"acknowledged"` // UIDs of the members that the API server shows on the node
}

// LeaderOf is the member whose node leads: the first by name that has a node, unless that is silent; nil: none can.
func LeaderOf(all []Placed, silent func(node string) bool) *Placed {
	var first *Placed
	for i := range all {
		if p := &all[i]; p.Node != "" && !p.Leaving && (first == nil || p.Name < first.Name) && !silent(p.Node) {
			first = p
		}
	}
	return first
}

// Leader is the part of the node that leads a group. It knows the members by its watch of their pods, and what they announce
// by the reports of their nodes, which are ahead of the pods.
type Leader struct {
	group   string
	term    Term
	number  int64
	version uint64 // of pods, that the watch has brought
	entered uint64 // the newest version in which one of the members has entered that confirm the view
	members map[string]*member
	needed  map[string]uint64 // Version of what nodes have reported
	reports map[string]bool   // nodes that report
	liars   map[string]bool   // nodes whose Version is not believed
	tired   bool              // nodes that do not report are not waited for any more
}

// member is a pod of the group, and what its node reports of it.
type member struct {
	Placed
	entered  uint64 // the version in which the pod has shown an attempt first; 0: it shows none
	reported *Peer
	view     int64 // the newest in which it was reported; -1: none
}

// NewLeader begins a term: id is unlike those of all terms before.
func NewLeader(group, leader, id string) *Leader {
	return &Leader{
		group: group, term: Term{Leader: leader, ID: id}, members: map[string]*member{}, needed: map[string]uint64{}, reports: map[string]bool{}, liars: map[string]bool{},
	}
}

// Observe takes all pods of the group as the API server has them in that version, unless a newer one is known.
func (l *Leader) Observe(version uint64, all []Placed) {
	if version < l.version {
		return
	}
	shown := map[string]bool{}
	for _, p := range all {
		shown[p.UID] = true
		l.ObserveChange(version, p, false)
	}
	for uid := range l.members {
		if !shown[uid] {
			delete(l.members, uid)
		}
	}
}

// ObserveChange takes a pod that has changed in that version, or is gone.
func (l *Leader) ObserveChange(version uint64, p Placed, gone bool) {
	l.version = max(l.version, version)
	if gone {
		delete(l.members, p.UID)
		return
	}
	m := l.members[p.UID]
	if m == nil {
		m = &member{view: -1}
		l.members[p.UID] = m
	}
	m.Placed = p
	if m.entered == 0 && p.Attempt != nil {
		m.entered = p.Version
	}
}

// Join takes the report of a node that joins.
func (l *Leader) Join(r Report) Joined {
	j := Joined{}
	for _, p := range r.Members {
		if l.shows(p.UID, r.Node) {
			j.Acknowledged = append(j.Acknowledged, p.UID)
		}
	}
	l.Hear(r)
	j.Verdict = l.Verdict()
	return j
}

// Hear takes the report of a node, and says of which members it reports that are not on it by the API server: of those it
// believes nothing (B-GRP-25).
func (l *Leader) Hear(r Report) (refused []string) {
	if r.Group != l.group {
		return nil
	}
	for i := range r.Members {
		p := &r.Members[i]
		if !l.shows(p.UID, r.Node) {
			refused = append(refused, p.UID)
			continue
		}
		view := int64(-1)
		if l.term.same(r.Term) {
			view = r.Term.View
		}
		l.members[p.UID].hear(p, view)
	}
	if len(refused) < len(r.Members) {
		l.reports[r.Node] = true
		if !l.liars[r.Node] {
			l.needed[r.Node] = max(l.needed[r.Node], r.Version)
		}
	}
	return refused
}

// Claims are versions, by node, that the watch has not brought. The API server, read consistently, says whether it has them.
func (l *Leader) Claims() map[string]uint64 {
	claims := map[string]uint64{}
	for node, version := range l.needed {
		if version > l.version {
			claims[node] = version
		}
	}
	return claims
}

// Read takes what a consistent read has brought that was begun after those claims: one of a newer version was a lie, which would
// have the group wait for ever.
func (l *Leader) Read(version uint64, all []Placed, claims map[string]uint64) {
	l.Observe(version, all)
	for node, claimed := range claims {
		if claimed > version {
			l.liars[node] = true
			delete(l.needed, node)
		}
	}
}

// Leave takes that a node does not report any more.
func (l *Leader) Leave(node string) { delete(l.reports, node) }

func (l *Leader) shows(uid, node string) bool {
	m := l.members[uid]
	return m != nil && m.Node == node && node != ""
}

// hear takes what a node reports. A mode that is higher is of a node that may have forgotten what it has reported in a lower
// one; but for that, facts only rise.
func (m *member) hear(p *Peer, view int64) {
	switch {
	case m.reported == nil || p.Mode > m.reported.Mode:
		m.reported, m.view = new(*p), view
	case p.Mode == m.reported.Mode:
		m.reported, m.view = new(m.reported.risen(p)), max(m.view, view)
	}
}

// risen is what is known of a member by two facts, in whichever order they came.
func (p Peer) risen(other *Peer) Peer {
	p.Attempt, p.Done = newest(p.Attempt, other.Attempt), p.Done || other.Done
	if p.Began == nil || other.Began != nil && other.Began.Attempt > p.Began.Attempt {
		p.Began = other.Began
	}
	return p
}

// Verdict is how far the group is by all that is known.
func (l *Leader) Verdict() Verdict {
	newest := l.entered
	for _, m := range l.members {
		newest = max(newest, m.entered)
	}
	if newest > l.entered && PeersOf(l.peers(-1)).MembersHash != "" {
		l.term.View, l.entered = l.term.View+1, newest // all are to confirm, who have to know of those that have entered
	}
	l.number++
	return Verdict{
		Group: l.group, Term: l.term, Number: l.number, Version: l.entered, Direct: l.direct(), Peers: PeersOf(l.peers(l.term.View)),
	}
}

// Silent says whether members do not go by what their pods show whose nodes do not report: they may report to another leader,
// from which this one is cut off.
func (l *Leader) Silent() bool {
	return slices.ContainsFunc(l.all(), func(m *member) bool { return !l.reports[m.Node] && m.late() })
}

// Tire has the leader wait for these, or not any more: then all go by what their pods show (B-GRP-28).
func (l *Leader) Tire(tired bool) { l.tired = tired }

// direct says whether all that have to be waited for report to the leader, or do not go by what their pods show.
func (l *Leader) direct() bool {
	for _, m := range l.members {
		if !l.reports[m.Node] && m.Attempt != nil && !m.Done && (m.Mode%2 == 0 || l.tired) {
			return false
		}
	}
	return true
}

// peers are the members by what is known of them. One that has not confirmed in the view, by a report in the mode that its
// pod shows, is late.
func (l *Leader) peers(view int64) (all []Peer) {
	byPods := !slices.ContainsFunc(l.all(), func(m *member) bool { return m.late() })
	behind := l.behind()
	for _, m := range l.all() {
		p := m.Peer
		p.ByPod = m.Node != "" && !l.reports[m.Node]
		if byPods {
			all = append(all, p)
			continue
		}
		confirmed := false
		if m.reported != nil {
			p = p.risen(m.reported)
			confirmed = m.Attempt != nil && m.Mode%2 == 1 && m.reported.Mode == m.Mode && m.view >= view &&
				m.reported.Attempt != nil && *m.reported.Attempt == *p.Attempt && !behind
		}
		p.Mode = 1
		if confirmed {
			p.Mode = 0
		}
		all = append(all, p)
	}
	return all
}

// behind says whether the watch has not brought what a node knows of that reports.
func (l *Leader) behind() bool {
	for _, m := range l.members {
		if l.needed[m.Node] > l.version {
			return true
		}
	}
	return false
}

func (l *Leader) all() (list []*member) {
	for _, m := range l.members {
		list = append(list, m)
	}
	return list
}
