package journal_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/journal"
	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/timeline/timelinetest"
)

// describe gives attempts as short text: who began each, and who was the last to come to each step.
func describe(records ...*journal.Record) (list []string) {
	var members []journal.Member
	for _, r := range records {
		members = append(members, journal.MemberOf(r))
	}
	for _, r := range journal.GroupAttempts(members) {
		text := fmt.Sprintf("%d at %s", r.Attempt, r.At.Sub(timelinetest.Moment(0)))
		for _, m := range r.Began {
			text += fmt.Sprintf(", begun by %s (%s)", m.Pod, m.Because)
		}
		for _, s := range r.Steps {
			text += fmt.Sprintf("; %s %s %s", s.Took, s.What, s.Last)
		}
		list = append(list, text)
	}
	return list
}

// TestOf: each attempt is told, the first one also when a second has begun (B-GRP-5, B-GRP-6).
func TestOf(t *testing.T) {
	records, _ := timelinetest.Train()
	want := []string{
		"0 at 1s; 2s heard train-c; 0s ended train-c; 1s lifted train-a; 2s told train-c; 0s runs train-c",
		"1 at 1m0s, begun by train-b (worker exited 88); 300ms heard train-c; 900ms ended train-c; 300ms lifted train-a; 20ms told train-c; 0s runs train-c",
	}
	assert.Deep(t, "", want, describe(records...))
}

// TestOvertaken: an attempt that another one overtakes before all have started ends where it was, and of the newest
// one those are missed that take no part yet.
func TestOvertaken(t *testing.T) {
	a, b := timelinetest.NewMember("a", "node-1"), timelinetest.NewMember("b", "node-2")
	a.Hears(time.Second, -1, -1)
	b.Hears(time.Second, -1, -1)
	a.Hears(2*time.Second, 0, -1)
	a.Exits(3*time.Second, 1) // before b has heard that the first one begins
	want := []string{
		"0 at 1s; 0s heard a; 0s ended a; 1s lifted a",
		"1 at 3s, begun by a (worker exited 1)",
	}
	assert.Deep(t, "", want, describe(a.Record, b.Record))
}

// TestNewest: pods of a group that was deleted before another one of its name came are left out, a member that was
// replaced while others lived is not.
func TestNewest(t *testing.T) {
	record := func(name string, begin, end time.Duration) *journal.Record {
		r := &journal.Record{Pod: journal.Pod{Name: name}, Entries: []journal.Entry{{ID: 1, At: timelinetest.Moment(begin)}}}
		if end > 0 {
			r.Now = &journal.Now{At: timelinetest.Moment(end), Stage: lifecycle.Gone.String(), Deleting: timelinetest.Moment(end - 1)}
		}
		return r
	}
	var names []string
	for _, r := range journal.NewestGroup([]*journal.Record{
		record("former-a", 0, 10), record("former-b", 1, 12), record("a", 20, 0), record("lost-b", 21, 30), record("b", 40, 0),
	}, timelinetest.Moment(50)) {
		names = append(names, r.Pod.Name)
	}
	assert.Deep(t, "", []string{"a", "b", "lost-b"}, names)
}
