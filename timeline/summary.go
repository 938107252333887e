package timeline

import (
	"cmp"
	"slices"
	"strings"
)

// Summary is a pod in one row: what its first Ready had to wait for, one after the other, and what
// became of it.
func (c *Chart) Summary() Row {
	r := Row{Kind: PodRow, Name: c.Pod.FullName()}
	for _, p := range c.Path.Pieces {
		r.Bars = append(r.Bars, Bar{Step: p.Step, Label: p.Label, Begin: p.Begin, End: p.End, Critical: true})
	}
	for _, row := range c.Rows {
		if row.Kind != PodRow {
			continue
		}
		r.Marks = append(r.Marks, row.Marks...)
		for _, bar := range row.Bars {
			if bar.End.After(c.Path.At) {
				bar.Begin = later(bar.Begin, c.Path.At)
				r.Bars = append(r.Bars, bar)
			}
		}
	}
	return r
}

// Slowest is which of several pods was Ready last, or isn't; and the one that was first. Both are -1
// if less than two pods are compared.
func Slowest(charts []*Chart) (last, first int) {
	if len(charts) < 2 {
		return -1, -1
	}
	for i, c := range charts {
		if c.Path.At.After(charts[last].Path.At) {
			last = i
		}
		if c.Path.At.Before(charts[first].Path.At) {
			first = i
		}
	}
	return last, first
}

// InTime are the charts in the order in which their pods were created, those of the same time by name.
func InTime(charts []*Chart) []*Chart {
	list := slices.Clone(charts)
	slices.SortStableFunc(list, func(x, y *Chart) int {
		return cmp.Or(x.Begin.Compare(y.Begin), strings.Compare(x.Pod.FullName(), y.Pod.FullName()))
	})
	return list
}
