package group

import (
	"testing"
	"time"
)

// TestReminders: after 5, 15, 35 and 75 minutes, and each hour from then on (B-GRP-16).
func TestReminders(t *testing.T) {
	for _, c := range []struct {
		waited time.Duration
		said   int
		next   time.Duration
	}{
		{0, 0, 5 * time.Minute},
		{5*time.Minute - 1, 0, 5 * time.Minute},
		{5 * time.Minute, 1, 15 * time.Minute},
		{15*time.Minute - 1, 1, 15 * time.Minute},
		{15 * time.Minute, 2, 35 * time.Minute},
		{35 * time.Minute, 3, 75 * time.Minute},
		{75 * time.Minute, 4, 135 * time.Minute},
		{134 * time.Minute, 4, 135 * time.Minute},
		{135 * time.Minute, 5, 195 * time.Minute},
		{195*time.Minute - 1, 5, 195 * time.Minute},
		{135*time.Minute + 100*24*time.Hour, 5 + 2400, 195*time.Minute + 100*24*time.Hour},
		{1<<63 - 1 - 2*time.Hour, 2562048, 2562046*time.Hour + 15*time.Minute},
		{-time.Minute, 0, 5 * time.Minute}, // the clock was set back
	} {
		if said, next := Reminders(c.waited); said != c.said || next != c.next {
			t.Errorf("B-GRP-16, after %v: %d, next %v; want %d, next %v", c.waited, said, next, c.said, c.next)
		}
	}
}

func TestIncomplete(t *testing.T) {
	for want, size := range map[string]Size{
		"attempt 3 does not begin: not all members of the group take part in it":                                              {},
		"attempt 3 does not begin: not all 4 members of the group take part in it":                                            {Members: 4},
		"attempt 3 does not begin: of 4 members of the group 2 have no pod (1 of 2 Jobs of workers), and more may be missing": {Members: 4, Podless: 2, Where: "1 of 2 Jobs of workers"},
	} {
		if got := size.Incomplete(3); got != want {
			t.Errorf("B-GRP-16: %q, want %q", got, want)
		}
	}
}
