package main

import (
	"fmt"
	"slices"
)

// load is what a process takes.
type load struct {
	cpu                 float64 // percent of a core
	resident, anonymous float64 // MiB
}

// String is for the terminal.
func (l load) String() string {
	return fmt.Sprintf("%.2f %% of a core, %.1f MiB resident, %.1f MiB of it anonymous", l.cpu, l.resident, l.anonymous)
}

// loads are those of the sides.
type loads struct{ by map[string][]load }

func (l *loads) add(side string, one load) {
	if l.by == nil {
		l.by = map[string][]load{}
	}
	l.by[side] = append(l.by[side], one)
}

// median is that of one figure, 0 if it was not measured.
func (l *loads) median(side string, figure func(load) float64) float64 {
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
