package sim_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/sim"
)

// lived is a life that was Ready from a time on until the end, or never.
func lived(seed uint64, ready time.Duration, restarts int32) *sim.Life {
	l := &sim.Life{Seed: seed, Until: 48 * time.Hour, Moments: []sim.Moment{{Phase: v1.PodRunning}}}
	if ready >= 0 {
		l.Moments = append(l.Moments, sim.Moment{At: ready, Phase: v1.PodRunning, Ready: true})
	}
	l.Moments = append(l.Moments, sim.Moment{At: 47 * time.Hour, Phase: v1.PodRunning, Ready: ready >= 0, Restarts: []sim.Restarts{{Container: "main", Count: restarts}}})
	return l
}

const never = -1

func statisticsOf(lives ...*sim.Life) *sim.Statistics {
	s := &sim.Statistics{}
	for _, l := range lives {
		s.Add(l, nil)
	}
	s.Finish()
	return s
}

func written(t *testing.T, s *sim.Statistics) string {
	t.Helper()
	var b strings.Builder
	assert.Must(t, s.Write(&b))
	return b.String()
}

// A life that never was Ready has no time to Ready, and no downtime: neither counts as 0.
func TestStatisticsOfLivesThatAreNeverReady(t *testing.T) {
	text := written(t, statisticsOf(lived(1, never, 2), lived(2, never, 2)))
	want := `2 lives, seeds 1 to 2

end Running    100.0 %  (2)
never Ready    100.0 %  (2)

                   min   p50   p90   p99   max   mean
   time to Ready     —     —     —     —     —      —
        downtime     —     —     —     —     —      —
        restarts     2     2     2     2     2      2
`
	assert.Deep(t, "", want, text)
	data := assert.Get(json.Marshal(statisticsOf(lived(1, never, 2)))).Must(t)
	for _, want := range []string{`"neverReady":1,`, `"timeToReadySeconds":null`, `"downtimeSeconds":null`, `"failedAssertions":[]`} {
		assert.True(t, strings.Contains(string(data), want), "%s is missing: %s", want, data)
	}
	one := statisticsOf(lived(1, never, 0), lived(2, 4*time.Second, 0))
	assert.True(t, one.NotReady == 1 && one.TimeToReady.Min == 4 && one.TimeToReady.Mean == 4 && one.Downtime.Max == 0,
		"%d never Ready, time to Ready %+v, downtime %+v", one.NotReady, one.TimeToReady, one.Downtime)
}

// Long durations are written as people read them, and restarts have a histogram of whole numbers.
func TestStatisticsAreLegible(t *testing.T) {
	text := written(t, statisticsOf(lived(1, time.Hour, 0), lived(2, 77590*time.Second, 21), lived(3, 2*time.Hour, 4)))
	for _, want := range []string{
		"   time to Ready   1h00m   2h00m   21h33m   21h33m   21h33m   8h11m\n",
		"        restarts       0       4       21       21       21    8.33\n",
		"\ntime to Ready\n       1h00m █", "\n      19h30m █", "\nrestarts\n           0 █", "\n           3 █", "\n          21 █",
	} {
		assert.True(t, strings.Contains(text, want), "%q is missing:\n%s", want, text)
	}
}

// The bins of a histogram have all lives: of what lies on a border it is the upper one, and the last has the greatest.
func TestHistogram(t *testing.T) {
	bins := func(s *sim.Statistics) (froms []float64, lives []int) {
		for _, b := range s.RestartCount.Histogram {
			froms, lives = append(froms, b.From), append(lives, b.Lives)
		}
		return froms, lives
	}
	for _, test := range []struct {
		restarts []int32
		froms    []float64
		lives    []int
	}{
		{[]int32{3, 3}, []float64{3}, []int{2}},
		{[]int32{0, 1, 1, 3}, []float64{0, 1, 2, 3}, []int{1, 2, 0, 1}},
		{[]int32{10, 12, 13, 31}, []float64{10, 13, 16, 19, 22, 25, 28, 31}, []int{2, 1, 0, 0, 0, 0, 0, 1}},
	} {
		var lives []*sim.Life
		for i, n := range test.restarts {
			lives = append(lives, lived(uint64(i), 0, n)) //nolint:gosec // never negative
		}
		froms, counts := bins(statisticsOf(lives...))
		diff := cmp.Diff(test.froms, froms) + cmp.Diff(test.lives, counts)
		assert.True(t, diff == "", "%v (-want +got)\n%s", test.restarts, diff)
	}
	h := statisticsOf(lived(1, 0, 0), lived(2, time.Second, 0), lived(3, 10*time.Second, 0)).TimeToReady.Histogram
	first, last := (sim.Bin{From: 0, To: 1, Lives: 1}), (sim.Bin{From: 9, To: 10, Lives: 1})
	assert.True(t, len(h) == 10 && h[0] == first && h[1].Lives == 1 && h[9] == last, "%+v", h)
}
