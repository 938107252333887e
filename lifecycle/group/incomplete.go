package group

import (
	"fmt"
	"time"
)

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
