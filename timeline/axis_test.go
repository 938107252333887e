package timeline_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/timeline"
	"github.com/lifepod/lifepod/timeline/timelinetest"
)

// An axis never goes back, and reaches from 0 to 1.
func TestPosition(t *testing.T) {
	for name, c := range charts() {
		a := timeline.Together([]*timeline.Chart{c})
		last := a.Position(c.Begin)
		assert.True(t, last == 0 && math.Abs(a.Position(c.End)-1) <= 1e-9, "%s: from %v to %v", name, last, a.Position(c.End))
		for i := range 1000 {
			x := a.Position(c.Begin.Add(c.End.Sub(c.Begin) * time.Duration(i) / 1000))
			assert.Require(t, x >= last && x <= 1, "%s: %v comes after %v", name, x, last)
			last = x
		}
	}
}

// A pod that has run for hours shows how it began: the time since is cut.
func TestCuts(t *testing.T) {
	all := charts()
	a := timeline.Together([]*timeline.Chart{all["resumed"]})
	cuts := a.Cuts()
	assert.True(t, len(cuts) == 1 && math.Abs(cuts[0][1]-1) <= 1e-9 && math.Abs(cuts[0][0]-0.9) <= 1e-9, "cuts %v", cuts)
	x := a.Position(timelinetest.At(2650 * time.Millisecond))
	assert.True(t, math.Abs(x-0.45) <= 1e-9, "the middle of the begin is at %v", x)
	record, _ := timelinetest.Crashing()
	all["crashed long ago"] = timeline.Of(record, timelinetest.At(10*time.Minute)) // the wait is what matters
	for _, name := range []string{"web", "crashing", "unpullable", "crashed long ago"} {
		assert.Empty(t, timeline.Together([]*timeline.Chart{all[name]}).Cuts(), name, ": cuts")
	}
}

func TestTicks(t *testing.T) {
	all := charts()
	for _, test := range []struct {
		chart string
		most  int
		want  []string
	}{
		{"web", 6, []string{"0s", "5s", "10s", "15s", "20s"}},
		{"web", 1, []string{"0s"}},
		{"web", 0, []string{"0s"}},
		{"resumed", 4, []string{"0s", "2s", "4s"}},
		{"malicious", 12, []string{"0s", "100ms", "200ms", "300ms", "400ms", "500ms", "600ms", "700ms", "800ms", "900ms", "1s"}},
	} {
		var got []string
		for _, tick := range timeline.Together([]*timeline.Chart{all[test.chart]}).Ticks(test.most) {
			got = append(got, tick.Label)
		}
		assert.Deep(t, fmt.Sprintf("%s, %d", test.chart, test.most), test.want, got)
	}
}

// Ticks behind a cut have labels of their own, however late they are.
func TestTicksBehindACut(t *testing.T) {
	at := timelinetest.At
	bar := func(from, to time.Duration) timeline.Bar {
		return timeline.Bar{Begin: at(from), End: at(to), Step: timeline.Ready}
	}
	for after, want := range map[time.Duration][]string{
		6*time.Minute + 22*time.Second:          {"0s", "500ms", "6m22s", "6m22.5s"},
		30*time.Hour + 2*time.Minute:            {"0s", "500ms", "1d06h02m", "1d06h02m00.5s"},
		time.Hour + 500*time.Millisecond:        {"0s", "500ms", "1h00m00.5s", "1h00m01s"},
		59*time.Minute + 59500*time.Millisecond: {"0s", "500ms", "59m59.5s", "1h"},
	} {
		end := after + 900*time.Millisecond
		c := &timeline.Chart{Begin: at(0), End: at(end), Rows: []timeline.Row{{Kind: timeline.ContainerRow, Bars: []timeline.Bar{bar(0, 900*time.Millisecond), bar(after, end)}}}}
		var got []string
		for _, tick := range timeline.Together([]*timeline.Chart{c}).Ticks(5) {
			got = append(got, tick.Label)
		}
		assert.Deep(t, fmt.Sprintf("%v", after), want, got)
	}
}
