package group

import (
	"maps"
	"slices"
)

// Follower is the part of each node with members of a group: what it reports, and by what its members go. What is exported
// outlives the process: it is written before a report is sent. A pod is to show the mode of its member, and what it has announced,
// in the same write.
type Follower struct {
	Version uint64           `json:"version,omitzero"` // of Report
	Modes   map[string]int32 `json:"modes,omitzero"`   // of the members here, by UID (Peer)

	group, node string
	members     []Peer   // here; Mode is what the pod shows in the API
	direct      bool     // modes are to be odd
	term        Term     // zero: no leader is joined
	number      int64    // of the newest verdict
	known       []string // UIDs of the members that now holds for
	now         *Peers   // nil: not known
}

// NewFollower goes on from what has outlived the process.
func NewFollower(group, node string, kept Follower) *Follower {
	f := &Follower{Version: kept.Version, Modes: map[string]int32{}, group: group, node: node}
	maps.Copy(f.Modes, kept.Modes)
	return f
}

// Forgotten is what a node goes on from that has lost that, by its members as their pods show them in a version that is not
// older than the loss. A member whose pod shows an odd mode may have announced more than its pod shows: it counts as failed
// (B-GRP-29).
func Forgotten(version uint64, members []Peer) Follower {
	f := Follower{Version: version, Modes: map[string]int32{}}
	for _, p := range members {
		f.Modes[p.UID] = p.Mode + p.Mode%2 + 2 // higher than any that was reported
	}
	return f
}

// Have takes the members here, as they are now, with the modes that their pods show.
func (f *Follower) Have(members []Peer) {
	modes := map[string]int32{}
	for _, p := range members {
		modes[p.UID] = max(f.Modes[p.UID], p.Mode)
	}
	f.members, f.Modes = members, modes
	f.change()
}

// Raise takes a mode that a member here is to show as its checkpoint has been lost (B-GRP-29). Have comes next.
func (f *Follower) Raise(uid string, mode int32) {
	if f.Modes[uid] < mode {
		f.Modes[uid] = mode
	}
}

// MustJoin says whether a leader is to be joined: none is, or it has not acknowledged a member here.
func (f *Follower) MustJoin() bool {
	return f.term == Term{} || slices.ContainsFunc(f.members, func(p Peer) bool { return !slices.Contains(f.known, p.UID) })
}

// Report is what the node reports, to the leader that it joins or has joined.
func (f *Follower) Report() Report {
	r := Report{Group: f.group, Node: f.node, Term: f.term, Version: f.Version, Members: slices.Clone(f.members)}
	for i := range r.Members {
		r.Members[i].Mode = f.Modes[r.Members[i].UID]
	}
	return r
}

// Join takes the answer of a leader.
func (f *Follower) Join(j Joined) {
	if j.Verdict.Group != f.group {
		return
	}
	if !f.term.same(j.Verdict.Term) {
		f.Leave()
		f.term = Term{Leader: j.Verdict.Term.Leader, ID: j.Verdict.Term.ID, View: -1}
	}
	f.known = j.Acknowledged
	f.Hear(j.Verdict)
}

// Leave takes that the leader is lost, or that another one is to be joined.
func (f *Follower) Leave() { f.term, f.number, f.known, f.now = Term{}, 0, nil, nil }

// Hear takes a verdict of the leader that was joined, and says whether that has to be answered by a report.
func (f *Follower) Hear(v Verdict) (report bool) {
	if v.Group != f.group || !f.term.same(v.Term) || v.Number <= f.number {
		return false
	}
	report = v.Term.View > f.term.View
	f.term, f.number, f.Version, f.direct, f.now = v.Term, v.Number, max(f.Version, v.Version), v.Direct, &v.Peers
	f.change()
	return report
}

// Observe takes all members as their pods show them: no leader can be reached (B-GRP-28).
func (f *Follower) Observe(all []Peer) {
	f.Leave()
	f.direct, f.now = false, new(PeersOf(all))
	for _, p := range all {
		f.known = append(f.known, p.UID)
	}
	f.change()
}

// change changes the mode of each member to what is asked for last, once its pod shows the one before.
func (f *Follower) change() {
	for _, p := range f.members {
		if mode := f.Modes[p.UID]; f.now != nil && p.Mode == mode && f.direct != (mode%2 == 1) {
			f.Modes[p.UID]++
		}
	}
}

// Kept is what has to outlive the process by now.
func (f *Follower) Kept() Follower { return Follower{Version: f.Version, Modes: maps.Clone(f.Modes)} }

// Attempts is how far the group is for a member here; false: not known.
func (f *Follower) Attempts(uid string) (Attempts, bool) {
	if f.now == nil || !slices.Contains(f.known, uid) {
		return Attempts{}, false
	}
	return f.now.Attempts(uid, true), true
}

// Size is what is known of the group's members.
func (f *Follower) Size() (s Size) {
	if f.now != nil {
		s = f.now.Size
	}
	return s
}
