package sim

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/timeline"
)

// Statistics are what many lives have in common.
type Statistics struct {
	Runs     int            `json:"runs"`
	Seed     uint64         `json:"seed"` // of the first
	Phases   map[string]int `json:"phases"`
	NotReady int            `json:"neverReady"` // lives

	// Of the lives that were Ready at all; nil: none was.
	TimeToReady *Distribution `json:"timeToReadySeconds"`
	Downtime    *Distribution `json:"downtimeSeconds"`

	RestartCount *Distribution `json:"restarts"`
	Breaches     []Breach      `json:"failedAssertions"`

	ready, down, restarts []float64 // of each life
}

// Add counts a life, and how it broke assertions.
func (s *Statistics) Add(l *Life, breaches []Breach) {
	if s.Runs == 0 {
		s.Seed, s.Phases, s.Breaches = l.Seed, map[string]int{}, []Breach{}
	}
	s.Runs++
	s.Phases[string(l.Phase())]++
	if at, ever := l.ReadyAt(); ever {
		down, _ := l.Downtime()
		s.ready, s.down = append(s.ready, at.Seconds()), append(s.down, down.Seconds())
	} else {
		s.NotReady++
	}
	s.restarts = append(s.restarts, float64(l.Restarts()))
	s.Breaches = append(s.Breaches, breaches...)
}

// Finish calculates the distributions, once all lives are counted.
func (s *Statistics) Finish() {
	s.TimeToReady, s.Downtime, s.RestartCount = distributionOf(s.ready, false), distributionOf(s.down, false), distributionOf(s.restarts, true)
}

// Write writes the table and the histograms.
func (s *Statistics) Write(out io.Writer) error {
	b := &strings.Builder{}
	fmt.Fprintf(b, "%d lives, seeds %d to %d\n\n", s.Runs, s.Seed, s.Seed+uint64(s.Runs)-1) //nolint:gosec // never negative
	for _, phase := range []v1.PodPhase{v1.PodSucceeded, v1.PodFailed, v1.PodRunning, v1.PodPending} {
		if n := s.Phases[string(phase)]; n > 0 {
			fmt.Fprintf(b, "end %-10s %5.1f %%  (%d)\n", phase, 100*float64(n)/float64(s.Runs), n)
		}
	}
	if s.NotReady > 0 {
		fmt.Fprintf(b, "never Ready    %5.1f %%  (%d)\n", 100*float64(s.NotReady)/float64(s.Runs), s.NotReady)
	}
	rows := []row{{"time to Ready", s.TimeToReady, took}, {"downtime", s.Downtime, took}, {"restarts", s.RestartCount, number}}
	table := tabwriter.NewWriter(b, 0, 0, 3, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "\n\tmin\tp50\tp90\tp99\tmax\tmean\t")
	for _, r := range rows {
		r.write(table)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for _, r := range rows {
		r.writeHistogram(b)
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// row is a figure, and how it is written.
type row struct {
	name string
	of   *Distribution // nil: no life has the figure
	text func(float64) string
}

// took is a duration of seconds.
func took(seconds float64) string { return timeline.Took(durationOf(seconds)) }

// exactly is one to the millisecond.
func exactly(seconds float64) string { return durationOf(seconds).Round(time.Millisecond).String() }

func durationOf(seconds float64) time.Duration { return time.Duration(seconds * float64(time.Second)) }

// number has two decimals at most.
func number(v float64) string { return strconv.FormatFloat(math.Round(v*100)/100, 'f', -1, 64) }

func (r row) write(table io.Writer) {
	fmt.Fprintf(table, "%s\t", r.name)
	if r.of == nil {
		fmt.Fprintln(table, strings.Repeat("—\t", 6))
		return
	}
	for _, v := range []float64{r.of.Min, r.of.P50, r.of.P90, r.of.P99, r.of.Max, r.of.Mean} {
		fmt.Fprintf(table, "%s\t", r.text(v))
	}
	fmt.Fprintln(table)
}

// histogramWidth is the length of the longest bar.
const histogramWidth = 50

// writeHistogram draws how many lives have a figure of each size, unless all have the same.
func (r row) writeHistogram(b *strings.Builder) {
	if r.of == nil || len(r.of.Histogram) == 1 {
		return
	}
	most := 0
	for _, bin := range r.of.Histogram {
		most = max(most, bin.Lives)
	}
	fmt.Fprintf(b, "\n%s\n", r.name)
	for i, from := range r.froms() {
		n := r.of.Histogram[i].Lives
		fmt.Fprintf(b, "%12s %s %d\n", from, strings.Repeat("█", n*histogramWidth/most), n)
	}
}

// froms are the begins of the bins, each in other words than the others.
func (r row) froms() []string {
	list := make([]string, len(r.of.Histogram))
	for _, text := range []func(float64) string{r.text, exactly} {
		for i, bin := range r.of.Histogram {
			list[i] = text(bin.From)
		}
		if len(slices.Compact(slices.Clone(list))) == len(list) {
			break
		}
	}
	return list
}
