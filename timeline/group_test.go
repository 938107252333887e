package timeline_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/internal/sentence"
	"github.com/lifepod/lifepod/timeline"
	"github.com/lifepod/lifepod/timeline/timelinetest"
)

// TestOfGroup: a group has a row of what all wait for, and one for each member; the path is that of its newest attempt.
func TestOfGroup(t *testing.T) {
	records, now := timelinetest.Train()
	c := timeline.OfGroup(timeline.NameOf("default", "train"), records, now, 0, sentence.English)
	assert.Deep(t, "", []string{
		"rounds: all take part 0s to 2.00s",
		"rounds: barrier is lifted 2.00s to 3.00s",
		"rounds: all are told 3.00s to 5.00s",
		"rounds: all run 5.00s to 59.0s",
		"rounds: all take part 59.0s to 59.3s, critical",
		"rounds: all have ended 59.3s to 1m00s",
		"rounds: barrier is lifted 1m00s to 1m01s, critical",
		"rounds: all are told 1m01s to 1m01s, critical",
		"rounds: all run 1m01s to 1m01s",
		"rounds: train-b began attempt 1 at 59.0s",
		"train-a: at the barrier 0s to 3.00s",
		"train-a: runs in the attempt 3.00s to 59.2s",
		"train-a: at the barrier 59.2s to 1m01s",
		"train-a: runs in the attempt 1m01s to 1m01s",
		"train-b: at the barrier 1.00s to 4.00s",
		"train-b: runs in the attempt 4.00s to 59.0s",
		"train-b: at the barrier 59.0s to 1m01s",
		"train-b: runs in the attempt 1m01s to 1m02s, open",
		"train-b: began attempt 1 at 59.0s",
		"train-c: at the barrier 2.00s to 5.00s",
		"train-c: runs in the attempt 5.00s to 59.3s",
		"train-c: stopping 59.3s to 1m00s, critical",
		"train-c: at the barrier 1m00s to 1m01s",
		"train-c: runs in the attempt 1m01s to 1m02s, open",
		"all take part (the last: train-c on node-2) 59.0s to 59.3s",
		"all have ended (the last: worker of train-c on node-2) 59.3s to 1m00s",
		"barrier is lifted (the first to hear: train-a on node-1) 1m00s to 1m01s",
		"all are told (the last: train-c on node-2) 1m01s to 1m01s",
	}, lines(c))

	text := assert.Get(json.MarshalIndent(c, "", "  ")).Must(t)
	timelinetest.Golden(t, "group.json", append(text, '\n'))
}

// TestNewestAttempts: of so many attempts a chart has the newest, from the beginning of the first of them.
func TestNewestAttempts(t *testing.T) {
	records, now := timelinetest.Train()
	c := timeline.OfGroup(timeline.NameOf("default", "train"), records, now, 1, sentence.English)
	assert.True(t, c.Group.Earlier == 1 && len(c.Group.Attempts) == 1 && c.Group.Attempts[0].Attempt == 1 && c.Begin.Equal(timelinetest.Moment(time.Minute)),
		"%d earlier attempts, since %v: %+v", c.Group.Earlier, c.Begin, c.Group.Attempts)
	laws(t, c)
}

// TestGroupLaws: every bar lies within its chart, at any time of a group's life.
func TestGroupLaws(t *testing.T) {
	records, now := timelinetest.Train()
	for _, most := range []int{0, 1} {
		for i := range len(records[2].Entries) + 1 {
			some := *records[2]
			some.Entries = some.Entries[:i]
			laws(t, timeline.OfGroup(timeline.NameOf("default", "train"), append(slices.Clone(records[:2]), &some), now, most, sentence.English))
		}
	}
	laws(t, timeline.OfGroup(timeline.NameOf("default", "train"), nil, now, 0, sentence.English))
}
