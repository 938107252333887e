package group

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/lifepod/lifepod/internal/assert"
)

// peersOf are members of a group of three, one a word: its name, the attempt that it has reported, the one that it began, and
// whom with, as in a:3 or a:3:2-x. A minus after it says that it is being deleted, a plus that it has succeeded, a number of
// stars another size, and a tilde before them that its mode is odd.
func peersOf(t *testing.T, text string) (all []Peer) {
	t.Helper()
	number := func(s string) *int32 {
		n, err := strconv.ParseInt(s, 10, 32)
		assert.Must(t, err)
		return new(int32(n))
	}
	for word := range strings.FieldsSeq(text) {
		p := Peer{Size: 3, Leaving: strings.HasSuffix(word, "-"), Done: strings.HasSuffix(word, "+")}
		if stars := strings.Count(word, "*"); stars > 0 {
			p.Size = int32(stars)
		}
		if strings.Contains(word, "~") {
			p.Mode = 1
		}
		parts := strings.Split(strings.TrimRight(word, "-+*~"), ":")
		p.Name, p.UID = parts[0], parts[0]
		if len(parts) > 1 {
			p.Attempt = number(parts[1])
		}
		if len(parts) > 2 {
			attempt, membersHash, _ := strings.Cut(parts[2], "-")
			p.Began = &Began{Attempt: *number(attempt), MembersHash: membersHash}
		}
		all = append(all, p)
	}
	return all
}

func attemptText(a *int32) string {
	if a == nil {
		return "-"
	}
	return strconv.Itoa(int(*a))
}

// TestPeers: how far the group is for its member a, from what all members show.
func TestPeers(t *testing.T) {
	for _, c := range []struct {
		name, peers       string
		current, previous string
	}{
		{"nobody has told anything", "a b c", "-", "-"},
		{"B-GRP-19: not all have told the first attempt", "a:0 b:0 c", "-", "-"},
		{"B-GRP-19: too few are there", "a:0 b:0", "-", "-"},
		{"B-GRP-19: all have told it", "a:0 b:0 c:0", "0", "-"},
		{"B-GRP-19: one more, who has told nothing, is not waited for", "a:0 b:0 c:0 d", "0", "-"},
		{"B-GRP-19: one more, who has, is", "a:1 b:1 c:1 d:0", "-", "0"},
		{"B-GRP-19: the highest outdates the others", "a:3:3-x b:3:3-x c:4:3-x", "3", "3"},
		{"B-GRP-19: all have told the next", "a:4:3-x b:4:3-x c:4:3-x", "4", "3"},
		{"B-GRP-19: one that is being deleted is not there", "a:4 b:4 c:4-", "-", "3"},
		{"B-GRP-19: it is waited for until it has ended", "a:4:3-x b:4:3-x c:3:3-x- d:4", "3", "3"},
		{"B-GRP-19: unless it waits in the same attempt", "a:4:3-x b:4:3-x c:4- d:4", "4", "3"},
		{"B-GRP-19: one that has told nothing has nothing to end", "a:4:3-x b:4:3-x c- d:4", "4", "3"},
		{"B-GRP-19: one that has succeeded is there in each attempt", "a:4:3-x b:4:3-x c:3:3-x+", "4", "3"},
		{"B-GRP-19: one is gone, and the others run", "a:4:4-x b:4:4-x", "4", "3"},
		{"B-GRP-20: its successor has to come into the next", "a b:4:4-x c:4:4-x", "4", "4"},
		{"B-GRP-20: and so has one that has told an earlier one", "a:3 b:4:4-x c:4:4-x", "4", "4"},
		{"B-GRP-20: may begin without it", "a b:4 c:4 d:4", "4", "4"},
		{"B-GRP-20: one came into it too late", "a:4:4-x b:4:4-x c:4", "4", "4"},
		{"B-GRP-20: two began with others", "a:4:4-x b:4:4-y c", "4", "4"},
		{"B-GRP-26: one may have announced more", "a:4 b:4:4-x c:4:4-x~", "-", "3"},
		{"B-GRP-26: unless it has succeeded", "a:4 b:4:3-x c:4:3-x~+", "4", "3"},
		{"B-GRP-26: or has announced nothing", "a:4 b:4:3-x c:4:3-x d~", "4", "3"},
		{"B-GRP-21: one says another size", "a:0 b:0 c:0**", "-", "-"},
		{"B-GRP-21: which changes nothing for those that run", "a:4:4-x b:4:4-x** c:4:4-x", "4", "3"},
		{"B-GRP-21: a larger group than is needed", "a:0** b:0** c:0**", "0", "-"},
	} {
		peers := peersOf(t, c.peers)
		for range peers { // in any order
			peers = append(peers[1:], peers[0])
			now := PeersOf(peers).Attempts("a", true)
			got, want := attemptText(now.Current)+" "+attemptText(now.Previous), c.current+" "+c.previous
			assert.True(t, got == want, "%s: current and previous of %q are %s, want %s", c.name, c.peers, got, want)
		}
	}
}

// TestMembersHash: the same members have the same hash, and others have another one (B-GRP-20).
func TestMembersHash(t *testing.T) {
	membersHash := func(text string) string { return PeersOf(peersOf(t, text)).Attempts("a", true).MembersHash }
	first := membersHash("a:2 b:2 c:2")
	for _, same := range []string{"c:2 a:2 b:2", "a:2 b:2 c:1+", "a:2 b:2 c:2 d", "a:2 b:2 c:2 d:2-"} {
		if got := membersHash(same); got != first {
			t.Errorf("B-GRP-20: %q has the hash %s, want %s", same, got, first)
		}
	}
	for _, other := range []string{"a:2 b:2 d:2", "a:2 b:2 c:2 d:2"} {
		if got := membersHash(other); got == first || len(got) != 16 {
			t.Errorf("B-GRP-20: %q has the hash %q", other, got)
		}
	}
}

// TestPeersIncomplete: who is missing is named (B-GRP-16).
func TestPeersIncomplete(t *testing.T) {
	for text, want := range map[string]string{
		"a:4 b:3 c": "attempt 4 does not begin: of 3 members of the group these are not there: b (attempt 3), c (no attempt yet)",
		"a:4 c:3-":  "attempt 4 does not begin: of 3 members of the group 2 have no pod, and these are not there: c (attempt 3, being deleted)",
		"a:4 b:4":   "attempt 4 does not begin: of 3 members of the group 1 have no pod",
		"a:4***** b:3***** e***** d***** c*****": "attempt 4 does not begin: of 5 members of the group these are not there: " +
			"b (attempt 3), c (no attempt yet), d (no attempt yet), 1 others",
		"b:4** a:4 c:4**": "attempt 4 does not begin: members differ in the size of the group: a says 3 and b says 2",
	} {
		peers := peersOf(t, text)
		slices.Reverse(peers)
		got := (&Lack{4, PeersOf(peers).Size}).In(fmt.Sprintf)
		assert.True(t, got == want, "B-GRP-16, B-GRP-21: %q:\n%s\nwant\n%s", text, got, want)
	}
}

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
		"attempt 3 does not begin: not all members of the group take part in it":                                                          {},
		"attempt 3 does not begin: not all 4 members of the group take part in it":                                                        {Members: 4},
		"attempt 3 does not begin: of 4 members of the group 2 have no pod (1 of 2 Jobs of workers), and more may be missing":             {Members: 4, Podless: 2, Jobs: []Jobs{{"workers", 1, 2}}},
		"attempt 3 does not begin: of 9 members of the group 2 have no pod (1 of 2 Jobs of a, Jobs of 4 others), and more may be missing": {Members: 9, Podless: 2, Jobs: []Jobs{{"a", 1, 2}}, MoreJobs: 4},
	} {
		got := (&Lack{3, size}).In(fmt.Sprintf)
		assert.True(t, got == want, "B-GRP-16: %q, want %q", got, want)
	}
}
