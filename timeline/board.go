package timeline

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/lifepod/lifepod/internal/sentence"
	"github.com/lifepod/lifepod/journal"
)

// board has the rows that are being made, and which entries their bars are of.
type board struct {
	language     sentence.Language
	record       *journal.Record
	at           time.Time // of the entry that is filed; it never goes back
	entries      map[int64]*journal.Entry
	rows         map[rowKey]*row
	begun, ended map[int64]*Bar // by entry
	noted        map[int64]bool // decisions that a bar has already
}

// rowKey is which row: of a container's images there is one for each, of the pod's by volume.
type rowKey struct {
	kind      RowKind
	container string
	name      string
}

// row is a row that is being made.
type row struct {
	Row
	bars []*Bar
}

// row is the row of a key, made at its first use.
func (b *board) row(key rowKey) *row {
	if r := b.rows[key]; r != nil {
		return r
	}
	r := &row{Row: Row{Kind: key.kind, Container: key.container, Name: key.name}}
	if key.container != "" {
		r.Of = b.kindOf(key.container)
	}
	b.rows[key] = r
	return r
}

func (b *board) kindOf(container string) string {
	return cmp.Or(b.record.Pod.KindOf(container), "container")
}

func (b *board) begin(key rowKey, step Step, e *journal.Entry) *Bar {
	r := b.row(key)
	bar := &Bar{ID: e.ID, Step: step, Label: b.label(step, &r.Row), Begin: b.at, Open: true, Attempt: e.Attempt}
	b.explain(bar, e)
	r.bars = append(r.bars, bar)
	b.begun[e.ID] = bar
	return bar
}

// explain notes at a bar the decision that an entry follows from, if no bar before has it: only the end
// of a pod is that of many.
func (b *board) explain(bar *Bar, e *journal.Entry) {
	d, ends := b.entries[e.Cause], bar.Step.Class() == Stop
	if d != nil && d.Kind == journal.Decided && (ends || d.Container == e.Container && !b.noted[d.ID]) {
		bar.note(d, b.language)
		b.noted[d.ID] = true
	}
}

func (b *board) end(bar *Bar, e *journal.Entry) {
	bar.End, bar.Open = b.at, false
	b.ended[e.ID] = bar
}

// note adds a line of the story to a bar, once.
func (b *Bar) note(d *journal.Entry, l sentence.Language) {
	n := Note{Text: d.Text(l.Say), Rule: d.Rule}
	if !slices.Contains(b.Notes, n) {
		b.Notes = append(b.Notes, n)
	}
}

// order is where the rows of a kind stand, among those of a container, or of the pod.
var order = map[RowKind]int{PodRow: 0, CgroupRow: 1, ClaimsRow: 2, VolumesRow: 3, SandboxRow: 4, ImageRow: 5, ContainerRow: 6, ProbeRow: 7}

// probeOrder is in which order a container comes to its probes.
func probeOrder(name string) int {
	return slices.IndexFunc([]string{"startup ", "readiness ", "liveness "}, func(kind string) bool { return strings.HasPrefix(name, kind) })
}

// inOrder are the rows as they are shown: those of the pod, then container by container, in the order
// of the spec.
func (b *board) inOrder() []*row {
	place := func(container string) int {
		if container == "" {
			return -1
		}
		if i := slices.IndexFunc(b.record.Pod.Containers, func(c journal.Container) bool { return c.Name == container }); i >= 0 {
			return i
		}
		return len(b.record.Pod.Containers)
	}
	return slices.SortedFunc(maps.Values(b.rows), func(x, y *row) int {
		return cmp.Or(
			cmp.Compare(place(x.Container), place(y.Container)), cmp.Compare(x.Container, y.Container),
			cmp.Compare(order[x.Kind], order[y.Kind]), cmp.Compare(probeOrder(x.Name), probeOrder(y.Name)), cmp.Compare(x.Name, y.Name),
		)
	})
}

// mark puts a mark into a row.
func (b *board) mark(key rowKey, m Mark) {
	r := b.row(key)
	r.Marks = append(r.Marks, m)
}
