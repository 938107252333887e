package perfetto

import (
	"fmt"
	"io"
	"math"
	"time"

	"github.com/lifepod/lifepod/timeline"
)

// Write writes a trace of one pod or several.
func Write(w io.Writer, charts []*timeline.Chart) error {
	t := &trace{tracks: 1}
	for i, c := range charts {
		if i == 0 {
			t.clocks(c.Begin)
		}
		t.pod(c, i+1)
	}
	if _, err := w.Write(t.out); err != nil {
		return fmt.Errorf("write the trace: %w", err)
	}
	return nil
}

// trace is what has been encoded.
type trace struct {
	out    message
	tracks uint64 // the last track's ID
}

// packet adds a packet.
func (t *trace) packet(fill func(*message)) {
	t.out.message(tracePacket, func(p *message) {
		fill(p)
		p.number(packetSequence, 1)
	})
}

// clocks says that times are those of the wall clock, so that a trace can be laid beside others.
func (t *trace) clocks(at time.Time) {
	t.packet(func(p *message) {
		p.message(packetClocks, func(m *message) {
			for _, clock := range []uint64{clockRealtime, clockBoottime} {
				m.message(clocksClock, func(c *message) {
					c.number(clockID, clock)
					c.number(clockTimestamp, nanoseconds(at))
				})
			}
		})
	})
}

// track adds a track, below another one.
func (t *trace) track(name string, parent uint64, rank int) uint64 {
	t.tracks++
	t.packet(func(p *message) {
		p.message(packetTrack, func(m *message) {
			m.number(trackUUID, t.tracks)
			m.text(trackName, name)
			m.number(trackParent, parent)
			m.number(trackRank, uint64(rank)) //nolint:gosec // counts rows
		})
	})
	return t.tracks
}

// pod adds a pod's tracks and what is on them.
func (t *trace) pod(c *timeline.Chart, number int) {
	t.tracks++
	pod := t.tracks
	t.packet(func(p *message) {
		p.message(packetTrack, func(m *message) {
			m.number(trackUUID, pod)
			m.message(trackProcess, func(process *message) {
				process.number(processPID, uint64(number)) //nolint:gosec // counts pods
				process.text(processName, timeline.Line(c.Title()))
			})
			m.number(trackOrdering, orderExplicit)
		})
	})
	for rank, r := range c.Rows {
		t.row(&r, pod, rank)
	}
}

// row adds a row. What is on one track must not overlap: what does gets another of the same name, which
// are shown as one.
func (t *trace) row(r *timeline.Row, pod uint64, rank int) {
	type track struct {
		id   uint64
		free time.Time
	}
	name := timeline.Line(r.Name)
	tracks := []track{{id: t.track(name, pod, rank)}}
	for _, b := range r.Bars {
		at := 0
		for at < len(tracks) && b.Begin.Before(tracks[at].free) {
			at++
		}
		if at == len(tracks) {
			tracks = append(tracks, track{id: t.track(name, pod, rank)})
		}
		tracks[at].free = b.End
		t.bar(&b, tracks[at].id, pod)
	}
	for _, m := range r.Marks {
		t.event(m.At, func(e *message) {
			e.number(eventType, typeInstant)
			e.number(eventTrack, tracks[0].id)
			e.text(eventName, timeline.Line(m.Name))
			e.annotation("text", timeline.Line(m.Text))
		})
	}
}

// bar adds a slice.
func (t *trace) bar(b *timeline.Bar, track, pod uint64) {
	t.event(b.Begin, func(e *message) {
		e.number(eventType, typeBegin)
		e.number(eventTrack, track)
		e.text(eventName, timeline.Line(b.Label))
		e.text(eventCategory, string(b.Step.Class()))
		if b.Critical {
			e.fixed(eventFlow, pod) // the arrows of one pod
			e.annotation("critical path", "yes")
		}
		if b.Attempt > 0 {
			e.annotation("restart", fmt.Sprint(b.Attempt))
		}
		if b.Open {
			e.annotation("end", "goes on")
		}
		for i, n := range b.Detail() {
			text := n.Text
			if n.Rule != "" {
				text += " [" + n.Rule + "]"
			}
			e.annotation(fmt.Sprintf("detail %d", i+1), text)
		}
	})
	t.event(b.End, func(e *message) {
		e.number(eventType, typeEnd)
		e.number(eventTrack, track)
	})
}

func (t *trace) event(at time.Time, fill func(*message)) {
	t.packet(func(p *message) {
		p.number(packetTimestamp, nanoseconds(at))
		p.message(packetEvent, fill)
	})
}

// nanoseconds is a time of the wall clock as traces have it.
func nanoseconds(at time.Time) uint64 {
	return uint64(min(max(at.UnixNano(), 0), math.MaxInt64)) //nolint:gosec // not negative
}
