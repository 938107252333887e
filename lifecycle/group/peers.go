package group

import (
	"fmt"
	"slices"
	"time"
)

// Peer is a member of a group without a leader, as its pod shows it to all others, or its node reports it (B-GRP-17, B-GRP-18).
type Peer struct {
	Name    string `json:"name"`
	UID     string `json:"uid"`
	Size    int32  `json:"size,omitzero"`    // that an attempt needs at least, as this one says; 0: it says none
	Attempt *int32 `json:"attempt,omitzero"` // that it has announced; nil: none
	Began   *Began `json:"began,omitzero"`   // the last attempt that it was started in; nil: none
	Done    bool   `json:"done,omitzero"`    // it has succeeded
	Leaving bool   `json:"leaving,omitzero"` // it is being deleted, and may still run
	// Mode is odd while the member reports to a node that leads the group, so that its pod may show what it announces late;
	// it rises with each change (B-GRP-26).
	Mode int32 `json:"mode,omitzero"`
	// ByPod says that its pod alone tells of it: its node does not report to the leader.
	ByPod bool `json:"-"`
}

// Began is an attempt that a member was started in.
type Began struct {
	Attempt     int32  `json:"attempt"`
	MembersHash string `json:"membersHash"` // of those that it began with
}

// Peers is what follows from the members of a group (B-GRP-19).
type Peers struct {
	Size        Size     `json:"size"`
	Highest     *int32   `json:"highest,omitzero"`     // attempt that any has announced
	Begun       *int32   `json:"begun,omitzero"`       // the newest attempt that a member was started in
	MembersHash string   `json:"membersHash,omitzero"` // of Highest, if that has begun, or may begin now; empty: neither, or not known
	Broken      bool     `json:"broken,omitzero"`      // Highest has begun, and not with those that take part in it now (B-GRP-20)
	Missing     []string `json:"missing,omitzero"`     // UIDs of members that take no part in Highest; only with MembersHash
}

// PeersOf looks at all members of a group, in any order.
func PeersOf(all []Peer) Peers {
	p := Peers{}
	for i := range all {
		p.Highest = newest(p.Highest, all[i].Attempt)
		if b := all[i].Began; b != nil {
			p.Begun = newest(p.Begun, &b.Attempt)
		}
	}
	var complete bool
	if p.Size, complete = sizeOf(all, p.Highest); p.Highest == nil || slices.ContainsFunc(all, Peer.late) {
		return p
	}
	here := ""
	if complete {
		here = membersHashOf(all, *p.Highest)
	}
	p.MembersHash = here
	began := false
	for i := range all {
		b := all[i].Began
		switch {
		case b == nil || b.Attempt != *p.Highest:
		case !began:
			p.Broken = here != "" && here != b.MembersHash
			p.MembersHash, began = b.MembersHash, true
		case b.MembersHash != p.MembersHash:
			p.Broken = true
			p.MembersHash = min(p.MembersHash, b.MembersHash) // whichever comes first in the list
		}
	}
	for i := range all {
		if a := all[i].Attempt; p.MembersHash != "" && !all[i].Done && (a == nil || *a != *p.Highest) {
			p.Missing = append(p.Missing, all[i].UID)
		}
	}
	slices.Sort(p.Missing)
	return p
}

// late says whether the member may have announced more than is known here: until it has not, nothing begins (B-GRP-26).
func (p Peer) late() bool { return p.Mode%2 == 1 && p.Attempt != nil && !p.Done }

// Attempts is how far the group is for one of its members, if it is one of those that were looked at. What has begun, or may
// begin, without that member is outdated for it (B-GRP-20).
func (p Peers) Attempts(uid string, known bool) Attempts {
	now := Attempts{}
	if p.Highest == nil {
		return now
	}
	if *p.Highest > 0 {
		now.Previous = new(*p.Highest - 1)
	}
	switch {
	case p.MembersHash != "":
		now.Current, now.MembersHash = new(*p.Highest), p.MembersHash
	case p.Begun != nil && *p.Begun < *p.Highest: // with whom Highest has begun is not known
		now.Current = new(*p.Begun)
	}
	if p.MembersHash != "" && (p.Broken || !known || slices.Contains(p.Missing, uid)) {
		now.Previous = new(*p.Highest)
	}
	return now
}

// membersHashOf is a hash of the members that have announced an attempt, or have succeeded: the same ones have the same
// hash in any order, and others have another one.
func membersHashOf(all []Peer, attempt int32) string {
	sum := uint64(0)
	for i := range all {
		if p := &all[i]; p.Done || p.takesPart(attempt) {
			sum ^= hash(p.UID)
		}
	}
	return fmt.Sprintf("%016x", sum)
}

// takesPart says whether the member has announced an attempt, and may be started in it.
func (p *Peer) takesPart(attempt int32) bool {
	return !p.Done && !p.Leaving && p.Attempt != nil && *p.Attempt == attempt
}

// hash is FNV-1a, of 64 bits.
func hash(text string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(text) {
		h = (h ^ uint64(text[i])) * 1099511628211
	}
	return h
}

// Size is how many members a group has, as its leader tells.
type Size struct {
	Members int32 `json:"members,omitzero"` // 0: not known
	// Podless is how many of them have no pod that is pending or runs. More may be missing: the leader does
	// not tell whose pods take part in an attempt.
	Podless int32 `json:"podless,omitzero"`
	// Jobs are which these are, beside MoreJobs others; none if there is no leader.
	Jobs     []Jobs `json:"jobs,omitzero"`
	MoreJobs int32  `json:"moreJobs,omitzero"`
	// Behind are the first members by name that have not told the newest attempt, beside More, and Differ names two that do not
	// agree on the size; of a group without a leader (B-GRP-16, B-GRP-21).
	Behind []Behind `json:"behind,omitzero"`
	More   int32    `json:"more,omitzero"`
	Differ []Says   `json:"sizes,omitzero"`
	ByPods int32    `json:"byPods,omitzero"` // members that only their pods tell of (Peer)
}

// Jobs are those of a JobSet's replicated job that have no pod that is pending or runs.
type Jobs struct {
	Name    string `json:"name"`
	Podless int32  `json:"podless"`
	Of      int32  `json:"of"`
}

// Says is the size of the group as a member says it.
type Says struct {
	Name string `json:"name"`
	Size int32  `json:"size"`
}

// Behind is a member that an attempt waits for.
type Behind struct {
	Name    string `json:"name"`
	Attempt *int32 `json:"attempt,omitzero"` // that it has announced; nil: none
	Leaving bool   `json:"leaving,omitzero"` // it is being deleted
	ByPod   bool   `json:"byPod,omitzero"`   // only its pod tells of it
}

// Way is how the members of a group without a leader hear of each other (B-GRP-24, B-GRP-28).
type Way struct {
	Leader    string `json:"leader,omitzero"`    // node that leads the group; empty: they go by what their pods show
	Unreached string `json:"unreached,omitzero"` // why no node that leads it is reached; empty: that is not known
}

// A member that waits says that its group is incomplete after reminderFirst, and again after twice as long
// as before, at most reminderMost (B-GRP-16).
const (
	reminderFirst = 5 * time.Minute
	reminderMost  = time.Hour
)

// Reminders is how often a member has said by now that its group is incomplete, if it has waited for so long, and
// after how long it says so next.
func Reminders(waited time.Duration) (said int, next time.Duration) {
	pause := reminderFirst
	for next = pause; next <= waited && pause < reminderMost; next += pause {
		pause = min(2*pause, reminderMost)
		said++
	}
	if next > waited {
		return said, next
	}
	more := int((waited-next)/reminderMost) + 1 // these follow each other evenly
	return said + more, next + time.Duration(more)*reminderMost
}
