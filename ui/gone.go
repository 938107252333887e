package ui

import (
	"slices"
	"sync"
	"time"

	"github.com/lifepod/lifepod/internal/sentence"
	"github.com/lifepod/lifepod/journal"
	"github.com/lifepod/lifepod/timeline"
	"github.com/lifepod/lifepod/timeline/draw"
	"github.com/lifepod/lifepod/why"
)

// gone remembers the pods that are no more: nothing of them changes, and there may be many.
type gone struct {
	mu   sync.Mutex
	seen map[string]goneRow // by UID
}

type goneRow struct {
	podRow
	end  time.Time
	held bool // its object is still there, which changes
	pod  journal.Pod
	// record is kept of those that were not as they should be.
	record *journal.Record
}

// rows are the pods that the journal has beside those that are known, the newest first; failed is what is known of those that
// were not as they should be.
func (g *gone) rows(l sentence.Language, from journal.Source, known map[string]bool, objects *why.Objects, now time.Time) (list []podRow, failed []*journal.Record) {
	pods, _ := from.Pods() // those that can be read
	g.mu.Lock()
	defer g.mu.Unlock()
	seen := map[string]goneRow{}
	var all []goneRow
	for _, p := range pods {
		row, before := g.seen[p.UID]
		if known[p.UID] || (!before || row.held) && !readGone(from, p.UID, now, &row) {
			continue
		}
		seen[p.UID], all = row, append(all, row)
	}
	g.seen = seen
	slices.SortStableFunc(all, func(a, b goneRow) int { return b.end.Compare(a.end) })
	for _, row := range all[:min(len(all), maxGone)] {
		if row.record != nil {
			failed = append(failed, row.record)
		}
		row.Of = partOf(&row.pod, nil, objects)
		if row.held {
			row.Status += l.Word(", its object is still there")
		}
		row.Age = timeline.Took(now.Sub(row.end).Truncate(time.Minute))
		list = append(list, row.podRow)
	}
	return list, failed
}

// readGone reads a pod; false: nothing is known of it, or a lifepod leads it.
func readGone(from journal.Source, uid string, now time.Time, row *goneRow) bool {
	record, err := from.Read(uid)
	if err != nil || len(record.Entries) == 0 || record.Living {
		return false
	}
	c := timeline.Of(record, now)
	*row = goneRow{end: c.End, podRow: rowOf(record.PodObject(), now), held: c.Held, pod: record.Pod}
	row.Strip = draw.DrawRow(c)
	if row.Tone != "bad" {
		row.Tone = "done"
	}
	if !why.Explain(record, now, sentence.English).Well {
		row.record = record
	}
	return true
}
