package why

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/internal/sentence"
	"github.com/lifepod/lifepod/journal"
	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/lifecycle/group"
	"github.com/lifepod/lifepod/timeline/timelinetest"
)

func explained(t *testing.T, after time.Duration, members ...*timelinetest.Member) string {
	t.Helper()
	var records []*journal.Record
	for _, m := range members {
		records = append(records, m.Record)
	}
	var b strings.Builder
	assert.Must(t, (Layout{Width: 100}).WriteGroup(&b, ExplainGroup("default/train", records, timelinetest.Moment(after), sentence.English)))
	return b.String()
}

// TestExplainGroup takes three members through an attempt, and explains it at each step.
func TestExplainGroup(t *testing.T) {
	a, b, c := timelinetest.NewMember("train-a", "node-1"), timelinetest.NewMember("train-b", "node-1"), timelinetest.NewMember("train-c", "node-2")
	all := []*timelinetest.Member{a, b, c}
	c.EndsIn = 900 * time.Millisecond
	tell := func(after time.Duration, want string) {
		t.Helper()
		assert.Deep(t, fmt.Sprintf("%s after noon", after), strings.TrimLeft(want, "\n"), explained(t, after, all...))
	}
	tell(0, `
The group default/train has 3 members, and none takes part in an attempt.
- train-a on node-1, train-b on node-1 and train-c on node-2: at the barrier: nothing is known of
  its group yet.
`)
	for i, m := range all {
		m.Hears(time.Duration(i+1)*time.Second, -1, -1)
	}
	for i, m := range all {
		m.Hears(time.Duration(i+4)*time.Second, 0, -1)
	}
	tell(10*time.Second, `
The group default/train has 3 members; attempt 0 began at 12:00:01, and all ran after 5.00 s.
- No member that is still there failed for it.
- 2.00 s until all took part in it; the last was train-c on node-2.
- 0 ms until nothing of the attempt before ran any more.
- 1.00 s until the barrier was lifted: statuses written, counted, and told; the first to hear was
  train-a on node-1.
- 2.00 s until all had heard of it; the last was train-c on node-2.
- 0 ms until all ran; the last was train-c on node-2.
`)

	b.Exits(time.Minute, 88)
	a.Hears(time.Minute+200*time.Millisecond, 0, 0)
	tell(time.Minute+time.Second, `
The group default/train has 3 members; attempt 1 began at 12:01:00, and 0 of 3 run in it.
- It began with train-b on node-1: worker exited 88.
- train-a on node-1 and train-b on node-1: at the barrier: attempt 1 begins when all members of the
  group take part in it.
- train-c on node-2: still in attempt 0, is Running and Ready since 12:00:06.
`)
	c.Hears(time.Minute+300*time.Millisecond, 0, 0)
	for i, m := range all {
		m.Hears(time.Minute+1500*time.Millisecond+time.Duration(i)*10*time.Millisecond, 1, 0)
	}
	tell(2*time.Minute, `
The group default/train has 3 members; attempt 1 began at 12:01:00, and all ran after 1.52 s.
- It began with train-b on node-1: worker exited 88.
- 300 ms until all took part in it; the last was train-c on node-2.
- 900 ms until nothing of the attempt before ran any more; the last was worker of train-c on node-2.
- 300 ms until the barrier was lifted: statuses written, counted, and told; the first to hear was
  train-a on node-1.
- 20 ms until all had heard of it; the last was train-c on node-2.
- 0 ms until all ran; the last was train-c on node-2.
`)

	c.Feed(3*time.Minute, lifecycle.StopRequested{})
	if over := c.Now.Stage; !slices.Contains([]string{"terminating", "terminated", "gone"}, over) {
		t.Fatalf("the stopped member is %s", over)
	}
}

// TestExplainGroupOfNobody: there is nothing to tell of members that are gone.
func TestExplainGroupOfNobody(t *testing.T) {
	a := timelinetest.NewMember("train-a", "node-1")
	a.Now.Stage = "gone"
	assert.True(t, ExplainGroup("default/train", []*journal.Record{a.Record}, timelinetest.Moment(0), sentence.English) == nil, "told of a group without members")
}

// TestGroupWait: who waits at the barrier is told for whom, and which way these are heard of.
func TestGroupWait(t *testing.T) {
	led := group.Way{Leader: "node-1"}
	for want, g := range map[string]*lifecycle.GroupWait{
		"all take part":                       nil,
		"all take part; node node-1 leads it": {Way: led},
		"all take part; not there yet: train-1 (attempt 0, being deleted), train-2 (no attempt yet, as its pod shows) and 7 others; " +
			"node node-1 leads it, to which all nodes report but for those of 2 members": {
			Behind: []group.Behind{{Name: "train-1", Attempt: new(int32), Leaving: true}, {Name: "train-2", ByPod: true}}, More: 7, ByPods: 2, Way: led,
		},
		"all take part; it goes by what the pods of its members show":                                                {},
		"all take part; it goes by what the pods of its members show, as no node that leads it is reached: no route": {Way: group.Way{Unreached: "no route"}},
	} {
		t.Run(want, func(t *testing.T) {
			e := explainer{words: words{sentence.English}}
			assert.Equal(t, want, e.groupWait(&lifecycle.Wait{Because: "all take part", Group: g}), "B-GRP-16")
		})
	}
}
