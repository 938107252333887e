package group

import "strings"

// Lack is what an attempt waits for, by what is known of its members.
type Lack struct {
	Attempt int32 `json:"attempt"`
	Size    Size  `json:"size"`
}

// Say is a sentence of this file in some language, with what stands in its places: fmt.Sprintf for English.
type Say = func(english string, args ...any) string

// In is that in some language.
func (l *Lack) In(say Say) string {
	s := &l.Size
	switch {
	case len(s.Differ) == 2:
		a, b := s.Differ[0], s.Differ[1]
		return say("attempt %d does not begin: members differ in the size of the group: %s says %d and %s says %d", l.Attempt, a.Name, a.Size, b.Name, b.Size)
	case len(s.Behind) > 0 && s.Podless > 0:
		return say("attempt %d does not begin: of %d members of the group %d have no pod, and these are not there: %s", l.Attempt, s.Members, s.Podless, s.named(say))
	case len(s.Behind) > 0:
		return say("attempt %d does not begin: of %d members of the group these are not there: %s", l.Attempt, s.Members, s.named(say))
	case s.Members == 0:
		return say("attempt %d does not begin: not all members of the group take part in it", l.Attempt)
	case s.Podless == 0:
		return say("attempt %d does not begin: not all %d members of the group take part in it", l.Attempt, s.Members)
	case len(s.Jobs) == 0:
		return say("attempt %d does not begin: of %d members of the group %d have no pod", l.Attempt, s.Members, s.Podless)
	}
	return say("attempt %d does not begin: of %d members of the group %d have no pod (%s), and more may be missing", l.Attempt, s.Members, s.Podless, s.jobs(say))
}

// jobs names those that have no pod.
func (s *Size) jobs(say Say) string {
	var names []string
	for _, j := range s.Jobs {
		names = append(names, say("%d of %d Jobs of %s", j.Podless, j.Of, j.Name))
	}
	if s.MoreJobs > 0 {
		names = append(names, say("Jobs of %d others", s.MoreJobs))
	}
	return strings.Join(names, say(", "))
}

// named names those that are behind.
func (s *Size) named(say Say) string {
	var names []string
	for _, b := range s.Behind {
		standing := say("no attempt yet")
		if b.Attempt != nil {
			standing = say("attempt %d", *b.Attempt)
		}
		if b.Leaving {
			standing = say("%s, being deleted", standing)
		}
		names = append(names, b.Name+say(" (%s)", standing))
	}
	if s.More > 0 {
		names = append(names, say("%d others", s.More))
	}
	return strings.Join(names, say(", "))
}
