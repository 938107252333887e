package sim

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	v1 "k8s.io/api/core/v1"
)

// Statistics are what many lives have in common.
type Statistics struct {
	Runs     int             `json:"runs"`
	Seed     uint64          `json:"seed"` // of the first
	Phases   map[string]int  `json:"phases"`
	NotReady int             `json:"neverReady"`
	Ready    []time.Duration `json:"-"`
	Down     []time.Duration `json:"-"`
	Restarts []int32         `json:"-"`

	TimeToReady  Distribution `json:"timeToReadySeconds"`
	Downtime     Distribution `json:"downtimeSeconds"`
	RestartCount Distribution `json:"restarts"`
}

// Distribution is how a figure is distributed.
type Distribution struct {
	Min  float64 `json:"min"`
	P50  float64 `json:"p50"`
	P90  float64 `json:"p90"`
	P99  float64 `json:"p99"`
	Max  float64 `json:"max"`
	Mean float64 `json:"mean"`
}

// Add counts a life.
func (s *Statistics) Add(l *Life) {
	if s.Runs == 0 {
		s.Seed, s.Phases = l.Seed, map[string]int{}
	}
	s.Runs++
	s.Phases[string(l.Phase())]++
	if at, ever := l.ReadyAt(); ever {
		s.Ready = append(s.Ready, at)
		s.Down = append(s.Down, l.Downtime())
	} else {
		s.NotReady++
	}
	s.Restarts = append(s.Restarts, l.Restarts())
}

// Finish calculates the distributions, once all lives are counted.
func (s *Statistics) Finish() {
	seconds := func(list []time.Duration) (all []float64) {
		for _, d := range list {
			all = append(all, d.Seconds())
		}
		return all
	}
	var restarts []float64
	for _, n := range s.Restarts {
		restarts = append(restarts, float64(n))
	}
	s.TimeToReady, s.Downtime, s.RestartCount = distributionOf(seconds(s.Ready)), distributionOf(seconds(s.Down)), distributionOf(restarts)
}

func distributionOf(list []float64) (d Distribution) {
	if len(list) == 0 {
		return d
	}
	slices.Sort(list)
	at := func(percent int) float64 { return list[min(len(list)-1, len(list)*percent/100)] }
	for _, v := range list {
		d.Mean += v / float64(len(list))
	}
	d.Min, d.P50, d.P90, d.P99, d.Max = list[0], at(50), at(90), at(99), list[len(list)-1]
	return d
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
	table := tabwriter.NewWriter(b, 0, 0, 3, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "\n\tmin\tp50\tp90\tp99\tmax\tmean\t")
	row := func(name, unit string, d Distribution) {
		fmt.Fprintf(table, "%s\t", name)
		for _, v := range []float64{d.Min, d.P50, d.P90, d.P99, d.Max, d.Mean} {
			fmt.Fprintf(table, "%.4g%s\t", v, unit)
		}
		fmt.Fprintln(table)
	}
	row("time to Ready", "s", s.TimeToReady)
	row("downtime", "s", s.Downtime)
	row("restarts", "", s.RestartCount)
	if err := table.Flush(); err != nil {
		return err
	}
	histogram(b, "time to Ready", s.Ready)
	histogram(b, "downtime", s.Down)
	_, err := io.WriteString(out, b.String())
	return err
}

const (
	histogramRows  = 10
	histogramWidth = 50
)

// histogram draws how many lives have a figure of each size.
func histogram(b *strings.Builder, name string, list []time.Duration) {
	if len(list) == 0 {
		return
	}
	least, most := slices.Min(list), slices.Max(list)
	if least == most {
		return
	}
	width := cmp.Or((most-least)/histogramRows, 1)
	var counts [histogramRows]int
	for _, d := range list {
		counts[min(histogramRows-1, int((d-least)/width))]++
	}
	fmt.Fprintf(b, "\n%s\n", name)
	for i, n := range counts {
		bar := strings.Repeat("█", n*histogramWidth/slices.Max(counts[:]))
		fmt.Fprintf(b, "%11.3fs %s %d\n", (least + time.Duration(i)*width).Seconds(), bar, n)
	}
}
