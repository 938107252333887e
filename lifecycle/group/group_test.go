package group

import (
	"testing"

	"github.com/lifepod/lifepod/internal/assert"
)

func TestDecide(t *testing.T) {
	waits := Member{Joined: true, Attempt: 3}
	prepared := Member{Joined: true, Attempt: 3, Ran: true}
	runs := Member{Joined: true, Attempt: 3, Open: true, Ran: true}
	for _, c := range []struct {
		name    string
		member  Member
		now     Attempts
		do      Do
		attempt int32
		rule    string
	}{
		{"B-GRP-2: the first attempt of a group is 0", Member{}, Attempts{}, Join, 0, "B-GRP-2"},
		{"B-GRP-2: a replacement takes part in the next one", Member{}, Attempts{Current: new(int32(3))}, Join, 4, "B-GRP-2"},
		{"B-GRP-2: and in none that is outdated", Member{}, Attempts{Current: new(int32(3)), Previous: new(int32(4))}, Join, 5, "B-GRP-2"},
		{"a pod that runs and has taken part in nothing", Member{Ran: true}, Attempts{Current: new(int32(3))}, Leave, 4, "B-GRP-2"},
		{"B-GRP-4: outdated", runs, Attempts{Current: new(int32(3)), Previous: new(int32(3))}, Leave, 4, "B-GRP-4"},
		{"B-GRP-4: the newest attempt is two later", runs, Attempts{Current: new(int32(3)), Previous: new(int32(4))}, Leave, 5, "B-GRP-4"},
		{"B-GRP-4: outdated at the barrier", waits, Attempts{Current: new(int32(2)), Previous: new(int32(3))}, Join, 4, "B-GRP-4"},
		{"B-GRP-4: outdated at the barrier, initialized", prepared, Attempts{Current: new(int32(2)), Previous: new(int32(3))}, Leave, 4, "B-GRP-4"},
		{"B-GRP-4: the group has gone on", waits, Attempts{Current: new(int32(5)), Previous: new(int32(2))}, Join, 6, "B-GRP-4"},
		{"B-GRP-5: not all are there", waits, Attempts{Current: new(int32(2)), Previous: new(int32(2))}, Wait, 0, "B-GRP-5"},
		{"B-GRP-5: all are there", waits, Attempts{Current: new(int32(3)), Previous: new(int32(2))}, Start, 0, "B-GRP-5"},
		{"the first time", Member{Joined: true}, Attempts{}, Wait, 0, "B-GRP-5"},
		{"it runs", runs, Attempts{Current: new(int32(3)), Previous: new(int32(2))}, Run, 0, ""},
		{"it runs and hears something old", runs, Attempts{Current: new(int32(2)), Previous: new(int32(1))}, Run, 0, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := Decide(c.member, c.now)
			if d.Do != c.do || d.Attempt != c.attempt || d.Rule != c.rule {
				t.Errorf("%s attempt %d %s, want %s attempt %d %s", d.Do, d.Attempt, d.Rule, c.do, c.attempt, c.rule)
			}
			assert.True(t, d.Do == Run || d.Do == Wait || d.Because != "", "it does not say why")
		})
	}
}

// TestFailed: a member that ran restarts the group, one that did not stays (B-GRP-6).
func TestFailed(t *testing.T) {
	runs, waits := Member{Joined: true, Attempt: 3, Open: true, Ran: true}, Member{Joined: true, Attempt: 3}
	for _, c := range []struct {
		name   string
		member Member
		now    Attempts
		want   int32
	}{
		{"B-GRP-6: it ran", runs, Attempts{Current: new(int32(3)), Previous: new(int32(2))}, 4},
		{"another one had failed before", runs, Attempts{Current: new(int32(3)), Previous: new(int32(3))}, 4},
		{"the group has gone on twice", runs, Attempts{Current: new(int32(3)), Previous: new(int32(4))}, 5},
		{"B-GRP-6: it was at the barrier", waits, Attempts{Current: new(int32(2)), Previous: new(int32(2))}, 3},
		{"it was at the barrier of one that is outdated", waits, Attempts{Current: new(int32(2)), Previous: new(int32(3))}, 4},
	} {
		got := Failed(c.member, c.now)
		assert.True(t, got == c.want, "%s: attempt %d, want %d", c.name, got, c.want)
	}
}

// TestMerge: what comes late changes nothing (B-GRP-8).
func TestMerge(t *testing.T) {
	old, newer := Attempts{Previous: new(int32(1))}, Attempts{Current: new(int32(2)), Previous: new(int32(1))}
	for _, got := range []Attempts{old.Merge(newer), newer.Merge(old), newer.Merge(newer)} {
		assert.True(t, got.Current != nil && *got.Current == 2 && got.Previous != nil && *got.Previous == 1, "B-GRP-8: %v", got)
	}
	if got := (Attempts{}).Merge(Attempts{}); got.Current != nil || got.Previous != nil {
		t.Errorf("nothing and nothing is %v", got)
	}
}
