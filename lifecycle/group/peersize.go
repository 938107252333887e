package group

import (
	"slices"
	"strings"
)

// sizeOf is how many members an attempt needs, who is missing in the highest one (B-GRP-16), and whether it is complete.
func sizeOf(all []Peer, highest *int32) (s Size, complete bool) {
	if s.Differ = differ(all); s.Differ != nil {
		return s, false
	}
	there, blocked, behind := int32(0), false, []Behind(nil)
	for i := range all {
		p := &all[i]
		if p.lives() {
			s.Members = p.Size // of all the same
		}
		if p.lives() && p.ByPod {
			s.ByPods++
		}
		switch at := p.at(highest); at {
		case isThere:
			there++
		case isBefore, isNew:
			blocked = blocked || at == isBefore
			behind = append(behind, Behind{p.Name, p.Attempt, p.Leaving, p.ByPod})
		case isGoing:
		}
	}
	if highest != nil && s.Members > 0 && !blocked && there >= s.Members {
		return s, true
	}
	slices.SortFunc(behind, func(a, b Behind) int { return strings.Compare(a.Name, b.Name) })
	s.Behind = behind[:min(len(behind), behindMost)]
	s.More = int32(len(behind) - len(s.Behind)) //nolint:gosec // not that many
	s.Podless = max(0, s.Members-there-coming(all, highest))
	return s, false
}

// place is where a member stands to the newest attempt.
type place int

const (
	isThere  place = iota // it has reported that, or has succeeded
	isBefore              // it has reported an earlier one, and what it runs has to end
	isNew                 // it has reported none
	isGoing               // it is being deleted, and nothing of an earlier attempt runs
)

func (p *Peer) at(highest *int32) place {
	switch {
	case p.Done:
		return isThere
	case p.Attempt != nil && *p.Attempt != *highest:
		return isBefore
	case p.Leaving:
		return isGoing
	case p.Attempt == nil:
		return isNew
	}
	return isThere
}

// lives says whether the member may take part in attempts to come.
func (p *Peer) lives() bool { return !p.Done && !p.Leaving }

// coming are the members that are behind and may still come.
func coming(all []Peer, highest *int32) (n int32) {
	for i := range all {
		if p := &all[i]; p.lives() && p.at(highest) != isThere {
			n++
		}
	}
	return n
}

// differ are two members that say another size; none: there are none (B-GRP-21).
func differ(all []Peer) []Says {
	var first, other *Peer
	for i := range all {
		if p := &all[i]; p.lives() && (first == nil || p.Name < first.Name) {
			first = p
		}
	}
	for i := range all {
		if p := &all[i]; p.lives() && p.Size != first.Size && (other == nil || p.Name < other.Name) {
			other = p
		}
	}
	if other == nil {
		return nil
	}
	return []Says{{first.Name, first.Size}, {other.Name, other.Size}}
}

// behindMost is how many members are named at most.
const behindMost = 3
