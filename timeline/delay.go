package timeline

import (
	"maps"
	"slices"
	"time"

	"github.com/lifepod/lifepod/journal"
)

// delay is the time between something that has failed, or ended, and the next try.
type delay struct {
	since   time.Time
	entry   *journal.Entry // what has failed or ended
	decided *journal.Entry // that it is tried again later; nil: so far nothing says so
	row     rowKey
}

// delayKey is what a delay, and the work that ends it, is about: a container; of the pod's an image,
// or one kind of work.
func delayKey(e *journal.Entry) string {
	switch {
	case e.Container != "":
		return e.Container
	case e.Image != "":
		return "image " + e.Image
	}
	return "work " + e.Name
}

// delays are those that nothing has ended yet, by delayKey.
type delays map[string]*delay

// decided files a decision to try once more.
func (d delays) decided(e *journal.Entry) {
	for _, one := range d {
		if one.entry.ID == e.Cause {
			one.decided = e
		}
	}
}

// end makes a bar of the delay that work ends which was begun; false: there is none.
func (d delays) end(b *board, e *journal.Entry) bool {
	key := delayKey(e)
	one := d[key]
	if one == nil {
		return false
	}
	delete(d, key)
	if bar := one.bar(b); bar != nil {
		b.end(bar, e)
	}
	return true
}

// stop makes bars of those that the pod's end has ended.
func (d delays) stop(b *board) {
	for _, key := range slices.Sorted(maps.Keys(d)) {
		if bar := d[key].bar(b); bar != nil {
			bar.End, bar.Open = b.at, false
		}
		delete(d, key)
	}
}

// finish makes bars of those that nothing has ended.
func (d delays) finish(b *board) {
	for _, key := range slices.Sorted(maps.Keys(d)) {
		d[key].bar(b)
	}
}

// bar is the bar of a delay, nil if there was none.
func (d *delay) bar(b *board) *Bar {
	if d.decided == nil {
		return nil
	}
	r := b.row(d.row)
	bar := &Bar{ID: d.decided.ID, Step: BackOff, Label: b.label(BackOff, &r.Row), Begin: d.since, Open: true, Attempt: d.entry.Attempt}
	bar.note(d.decided, b.language)
	r.bars = append(r.bars, bar)
	return bar
}
