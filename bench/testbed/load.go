package testbed

import (
	"fmt"
	"slices"
)

// Load is what a process takes.
type Load struct {
	CPU                 float64 // percent of a core
	Resident, Anonymous float64 // MiB
}

// String is for the terminal.
func (l Load) String() string {
	return fmt.Sprintf("%.2f %% of a core, %.1f MiB resident, %.1f MiB of it anonymous", l.CPU, l.Resident, l.Anonymous)
}

// Loads holds what each side takes, by its name.
type Loads struct{ by map[string][]Load }

// Add files what a side takes.
func (l *Loads) Add(side string, one Load) {
	if l.by == nil {
		l.by = map[string][]Load{}
	}
	l.by[side] = append(l.by[side], one)
}

// Median returns the median of one figure of a side, 0 if the side was not measured.
func (l *Loads) Median(side string, figure func(Load) float64) float64 {
	var values []float64
	for _, one := range l.by[side] {
		values = append(values, figure(one))
	}
	if len(values) == 0 {
		return 0
	}
	slices.Sort(values)
	return values[len(values)/2]
}

// Len is how often a side was looked at.
func (l *Loads) Len(side string) int { return len(l.by[side]) }
