package timeline

import (
	"fmt"
	"slices"
	"strconv"
	"time"
)

// Axis is the time that charts are drawn over, from left to right. Where for long nothing happens but
// that containers of pods that were Ready run, that is cut out: what is left of it is short and has a
// mark.
type Axis struct {
	Begin, End time.Time
	pieces     []piece
}

type piece struct {
	from, to time.Time
	x, end   float64
	cut      bool
}

const (
	// cutAbove is from which share of the whole on a gap is cut: there can be one.
	cutAbove = 0.6
	// cutWidth is what is left of it, as a share of the axis, and cutsWidth of all together.
	cutWidth, cutsWidth = 0.1, 0.3
)

// Together is one axis for charts; there has to be one.
func Together(charts []*Chart) *Axis {
	a := &Axis{Begin: charts[0].Begin, End: charts[0].End}
	var settled time.Time
	for _, c := range charts {
		a.Begin, a.End = earlier(a.Begin, c.Begin), later(a.End, c.End)
		settled = later(settled, c.Path.At)
	}
	if len(charts) == 1 && charts[0].Group != nil {
		a.divide(charts[0].betweenAttempts())
		return a
	}
	times := []time.Time{settled, a.End}
	for _, c := range charts {
		times = append(times, c.times()...)
	}
	times = slices.DeleteFunc(times, func(t time.Time) bool { return t.Before(settled) })
	slices.SortFunc(times, time.Time.Compare)
	cut := gap(times, a.End.Sub(a.Begin))
	a.divide(slices.DeleteFunc(cut, func(p piece) bool { return slices.ContainsFunc(charts, p.matters) }))
	return a
}

// matters says whether a chart has more to say of a time than that containers run.
func (p piece) matters(c *Chart) bool {
	for _, r := range c.Rows {
		for _, b := range r.Bars {
			within := b.Begin.Before(p.to) && b.End.After(p.from)
			if s := b.Step; r.Kind != PodRow && within && s != Ready && s != Runs && s != NotReady {
				return true
			}
		}
	}
	return false
}

// times are all at which something began, happened or ended.
func (c *Chart) times() (list []time.Time) {
	for _, r := range c.Rows {
		for _, b := range r.Bars {
			list = append(list, b.Begin, b.End)
		}
		for _, m := range r.Marks {
			list = append(list, m.At)
		}
	}
	return list
}

// gap is the one between times that is so long that little else could be seen; none if there is none.
func gap(times []time.Time, whole time.Duration) (cut []piece) {
	for i := 1; i < len(times); i++ {
		if long := times[i].Sub(times[i-1]); long < whole && float64(long) > cutAbove*float64(whole) {
			return []piece{{from: times[i-1], to: times[i], cut: true}}
		}
	}
	return nil
}

// betweenAttempts are the times in which all members of a group run, where they are so long that the restarts could hardly be
// seen: longer than half of all other time.
func (c *Chart) betweenAttempts() (cut []piece) {
	busy := c.End.Sub(c.Begin)
	for _, r := range c.Rows {
		for _, b := range r.Bars {
			if b.Step == AllRun {
				cut, busy = append(cut, piece{from: b.Begin, to: b.End, cut: true}), busy-b.Duration()
			}
		}
	}
	return slices.DeleteFunc(cut, func(p piece) bool { return p.to.Sub(p.from) <= busy/2 || p.to.Sub(p.from) == c.End.Sub(c.Begin) })
}

func (a *Axis) divide(cut []piece) {
	left := a.End.Sub(a.Begin)
	for _, c := range cut {
		left -= c.to.Sub(c.from)
	}
	width := min(cutWidth, cutsWidth/max(1, float64(len(cut))))
	room, x, since := 1-width*float64(len(cut)), 0.0, a.Begin
	add := func(p piece, width float64) {
		p.x, p.end = x, x+width
		a.pieces, x = append(a.pieces, p), p.end
	}
	linear := func(to time.Time) {
		if to.After(since) && left > 0 {
			add(piece{from: since, to: to}, room*float64(to.Sub(since))/float64(left))
		}
	}
	for _, c := range cut {
		linear(c.from)
		add(c, width)
		since = c.to
	}
	linear(a.End)
}

// Position is where a time is, from 0 to 1.
func (a *Axis) Position(t time.Time) float64 {
	for _, p := range a.pieces {
		if !t.After(p.to) {
			if t.Before(p.from) {
				return p.x
			}
			return p.x + (p.end-p.x)*float64(t.Sub(p.from))/float64(p.to.Sub(p.from))
		}
	}
	if len(a.pieces) == 0 {
		return 0
	}
	return 1
}

// Cuts are where time was cut out: the beginnings and the ends of what is left, from 0 to 1.
func (a *Axis) Cuts() (list [][2]float64) {
	for _, p := range a.pieces {
		if p.cut {
			list = append(list, [2]float64{p.x, p.end})
		}
	}
	return list
}

// Tick is a time that is written at the axis.
type Tick struct {
	Position float64
	Label    string // since the axis' begin
}

// steps are what ticks may be apart.
func steps() (list []time.Duration) {
	add := func(unit time.Duration, counts ...int) {
		for _, n := range counts {
			list = append(list, time.Duration(n)*unit)
		}
	}
	add(time.Millisecond, 1, 2, 5, 10, 20, 50, 100, 200, 500)
	add(time.Second, 1, 2, 5, 10, 15, 30)
	add(time.Minute, 1, 2, 5, 10, 15, 30)
	add(time.Hour, 1, 2, 3, 6, 12)
	for days := 1; days < 1<<15; days *= 2 {
		add(24*time.Hour, days)
	}
	return list
}

// Ticks are the times to write at an axis that has room for so many, evenly apart.
func (a *Axis) Ticks(most int) (list []Tick) {
	widest := piece{}
	for _, p := range a.pieces {
		if !p.cut && p.end-p.x > widest.end-widest.x {
			widest = p
		}
	}
	if widest.end == widest.x || most < 1 {
		return []Tick{{0, "0s"}}
	}
	scale := (widest.end - widest.x) / float64(widest.to.Sub(widest.from))
	var step time.Duration
	for _, step = range steps() {
		if scale*float64(step) >= 1/float64(most) {
			break
		}
	}
	last := -1.0
	for _, p := range a.pieces {
		if p.cut {
			continue
		}
		first := p.from.Sub(a.Begin).Truncate(step)
		for d := first; d <= p.to.Sub(a.Begin); d += step {
			at := a.Begin.Add(d)
			if x := a.Position(at); !at.Before(p.from) && (last < 0 || x-last >= 0.99/float64(most)) {
				list, last = append(list, Tick{x, offset(d)}), x
			}
		}
	}
	return list
}

// offset is a round time since the begin: 0s, 200ms, 1.5s, 2m, 2m30s, 6m22.5s.
func offset(d time.Duration) string {
	if d > 0 && d < time.Second {
		return Took(d)
	}
	text := ""
	for _, unit := range []struct {
		size time.Duration
		name string
	}{{24 * time.Hour, "d"}, {time.Hour, "h"}, {time.Minute, "m"}} {
		switch n := int(d / unit.size); {
		case text != "":
			text += fmt.Sprintf("%02d%s", n, unit.name)
		case n > 0:
			text = fmt.Sprintf("%d%s", n, unit.name)
		}
		if d %= unit.size; d == 0 && text != "" {
			return text
		}
	}
	if text != "" && d < 10*time.Second {
		text += "0"
	}
	return text + strconv.FormatFloat(d.Seconds(), 'f', -1, 64) + "s"
}
