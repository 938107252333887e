package group

import (
	"fmt"
	"time"
)

// Peer is a member of a group without a leader, as its pod shows it to all others (B-GRP-17, B-GRP-18).
type Peer struct {
	Name, UID string
	Size      int32  // that an attempt needs at least, as this one says; 0: it says none
	Attempt   *int32 // that it has announced; nil: none
	Began     *Began // the last attempt that it was started in; nil: none
	Done      bool   // it has succeeded
	Leaving   bool   // it is being deleted, and may still run
}

// Began is an attempt that a member was started in.
type Began struct {
	Attempt     int32
	MembersHash string // of those that it began with
}

// Peers is what follows from the members of a group, as one node sees them (B-GRP-19).
type Peers struct {
	Size Size

	highest     *int32 // that any has announced
	begun       *int32 // the newest that a member was started in
	membersHash string // of highest, if that has begun, or may begin now; empty: neither
	broken      bool   // highest has begun, and not with those that take part in it now (B-GRP-20)
	attempts    map[string]int32
}

// PeersOf looks at all members of a group, in any order.
func PeersOf(all []Peer) Peers {
	p := Peers{attempts: map[string]int32{}}
	for i := range all {
		if a := all[i].Attempt; a != nil {
			p.highest, p.attempts[all[i].UID] = newest(p.highest, a), *a
		}
		if b := all[i].Began; b != nil {
			p.begun = newest(p.begun, &b.Attempt)
		}
	}
	var complete bool
	if p.Size, complete = sizeOf(all, p.highest); p.highest == nil {
		return p
	}
	here := ""
	if complete {
		here = membersHashOf(all, *p.highest)
	}
	p.membersHash = here
	began := false
	for i := range all {
		b := all[i].Began
		switch {
		case b == nil || b.Attempt != *p.highest:
		case !began:
			p.broken = here != "" && here != b.MembersHash
			p.membersHash, began = b.MembersHash, true
		case b.MembersHash != p.membersHash:
			p.broken = true
			p.membersHash = min(p.membersHash, b.MembersHash) // whichever comes first in the list
		}
	}
	return p
}

// Attempts is how far the group is for one of its members. What has begun, or may begin, without that
// member is outdated for it (B-GRP-20).
func (p Peers) Attempts(uid string) Attempts {
	if p.highest == nil {
		return Attempts{}
	}
	now := Attempts{Current: newest(p.begun, nil)}
	if *p.highest > 0 {
		now.Previous = new(*p.highest - 1)
	}
	if p.membersHash == "" {
		return now
	}
	now.Current, now.MembersHash = new(*p.highest), p.membersHash
	if attempt, takesPart := p.attempts[uid]; p.broken || !takesPart || attempt != *p.highest {
		now.Previous = new(*p.highest)
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
	Members int32 // 0: not known
	// Podless is how many of them have no pod that is pending or runs. More may be missing: the leader does
	// not tell whose pods take part in an attempt.
	Podless int32
	Where   string // which these are; empty if there are none, or if there is no leader
	// Behind names members that have not told the newest attempt, and Differ two that do not agree on the size; of a
	// group without a leader (B-GRP-16, B-GRP-21).
	Behind, Differ string
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

// Incomplete says what is known of the members that an attempt waits for.
func (s Size) Incomplete(attempt int32) string {
	switch {
	case s.Differ != "":
		return fmt.Sprintf("attempt %d does not begin: %s", attempt, s.Differ)
	case s.Behind != "" && s.Podless > 0:
		return fmt.Sprintf("attempt %d does not begin: of %d members of the group %d have no pod, and these are not there: %s",
			attempt, s.Members, s.Podless, s.Behind)
	case s.Behind != "":
		return fmt.Sprintf("attempt %d does not begin: of %d members of the group these are not there: %s", attempt, s.Members, s.Behind)
	case s.Members == 0:
		return fmt.Sprintf("attempt %d does not begin: not all members of the group take part in it", attempt)
	case s.Podless == 0:
		return fmt.Sprintf("attempt %d does not begin: not all %d members of the group take part in it", attempt, s.Members)
	}
	if s.Where == "" {
		return fmt.Sprintf("attempt %d does not begin: of %d members of the group %d have no pod", attempt, s.Members, s.Podless)
	}
	return fmt.Sprintf("attempt %d does not begin: of %d members of the group %d have no pod (%s), and more may be missing", attempt, s.Members, s.Podless, s.Where)
}
