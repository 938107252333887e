package group

import (
	"fmt"
	"slices"
	"strings"
)

// sizeOf is how many members an attempt needs, who is missing in the highest one (B-GRP-16), and whether it is complete.
func sizeOf(all []Peer, highest *int32) (s Size, complete bool) {
	if s.Differ = differ(all); s.Differ != "" {
		return s, false
	}
	there, blocked := int32(0), false
	var behind []string
	for i := range all {
		p := &all[i]
		if !p.Done && !p.Leaving {
			s.Members = p.Size // of all the same
		}
		switch {
		case p.Done || highest != nil && p.takesPart(*highest):
			there++
		case p.Attempt != nil && *p.Attempt == *highest: // it leaves, and has not been started in an earlier one since
		case p.Attempt != nil:
			blocked = true
			behind = append(behind, p.Name+" ("+p.standing()+")")
		case !p.Leaving:
			behind = append(behind, p.Name+" ("+p.standing()+")")
		}
	}
	if highest != nil && s.Members > 0 && !blocked && there >= s.Members {
		return s, true
	}
	s.Behind = named(behind)
	s.Podless = max(0, s.Members-there-living(all, highest))
	return s, false
}

// living are the members that are behind and may still come.
func living(all []Peer, highest *int32) (n int32) {
	for i := range all {
		if p := &all[i]; !p.Done && !p.Leaving && (p.Attempt == nil || *p.Attempt != *highest) {
			n++
		}
	}
	return n
}

func (p *Peer) standing() string {
	text := "no attempt yet"
	if p.Attempt != nil {
		text = fmt.Sprintf("attempt %d", *p.Attempt)
	}
	if p.Leaving {
		text += ", being deleted"
	}
	return text
}

// differ names two members that say another size; empty: there are none (B-GRP-21).
func differ(all []Peer) string {
	var first, other *Peer
	for i := range all {
		if p := &all[i]; !p.Done && !p.Leaving && (first == nil || p.Name < first.Name) {
			first = p
		}
	}
	for i := range all {
		if p := &all[i]; !p.Done && !p.Leaving && p.Size != first.Size && (other == nil || p.Name < other.Name) {
			other = p
		}
	}
	if other == nil {
		return ""
	}
	return fmt.Sprintf("members differ in the size of the group: %s says %d and %s says %d", first.Name, first.Size, other.Name, other.Size)
}

// behindMost is how many members are named at most.
const behindMost = 3

func named(names []string) string {
	slices.Sort(names)
	if more := len(names) - behindMost; more > 0 {
		names = append(names[:behindMost], fmt.Sprintf("%d others", more))
	}
	return strings.Join(names, ", ")
}
