package timeline

import (
	"slices"
	"time"

	"github.com/lifepod/lifepod/internal/sentence"
	"github.com/lifepod/lifepod/journal"
	"github.com/lifepod/lifepod/lifecycle"
)

type podLife struct {
	phase        string
	phaseID      int64 // the milestone of the terminal phase; 0: not yet
	readyID      int64 // the milestone of the first Ready; 0: not yet
	readyAt      time.Time
	bar          *Bar
	ending, gone bool
}

var podKey = rowKey{kind: PodRow, name: "pod"}

func (b *builder) fileFact(e *journal.Entry) {
	switch e.Name {
	case "Accepted":
		b.pod.switchTo(b.board, Pending, e)
	case "Resumed":
		b.resumed(e)
	case "StopRequested":
		b.endPod(e, b.language.Word("deleted"), e.Detail[journal.DetailBecause], false)
	case "EvictionRequested":
		b.endPod(e, b.language.Word("evicted"), e.What, true)
	case "Rejected":
		b.endPod(e, b.language.Word("rejected"), e.Because+": "+e.What, true)
	case "SandboxExited":
		b.sandboxExited()
	case "ContainerRunning":
		b.runs(e)
	case "ContainerExited":
		if e.Exit != nil {
			b.exited(e)
		}
	case "Probed":
		b.probed(e)
	}
}

// sandboxExited marks the loss of a sandbox that nobody stops.
func (b *builder) sandboxExited() {
	for _, c := range b.calls {
		if c.of.kind == SandboxRow {
			return
		}
	}
	b.mark(rowKey{kind: SandboxRow, name: string(SandboxRow)}, Mark{At: b.at, Name: b.language.Word("sandbox lost"), Failed: true})
}

// resumed: another lifepod goes on with the pod, and nobody heard the answers to what was under way.
// When the one before ended is not known: not before its last entry.
func (b *builder) resumed(e *journal.Entry) {
	b.mark(podKey, Mark{At: b.at, Name: b.language.Word("resumed"), Text: b.language.Word("by another lifepod")})
	for _, c := range b.calls {
		c.bar.End, c.bar.Open = b.last, false
		c.bar.Failure = &journal.Failure{Class: "uncertain", Message: b.language.Word("lifepod ended before the answer")}
	}
	clear(b.calls)
	if b.pod.bar == nil {
		b.pod.switchTo(b.board, Pending, e)
	}
}

func (b *builder) endPod(e *journal.Entry, name, text string, failed bool) {
	b.mark(podKey, Mark{At: b.at, Name: name, Text: text, Failed: failed})
	b.pod.switchTo(b.board, Ending, e)
	b.pod.ending = true
	b.delays.stop(b.board)
}

// switchTo goes on to how the pod is now. What took no time is no step.
func (p *podLife) switchTo(b *board, step Step, e *journal.Entry) {
	switch {
	case p.ending || p.bar != nil && p.bar.Step == step:
		return
	case p.bar != nil && p.bar.Step == NotReady && p.bar.Begin.Equal(b.at):
		p.bar.Step, p.bar.Label, b.begun[e.ID] = step, string(step), p.bar
		b.explain(p.bar, e)
		return
	case p.bar != nil:
		b.end(p.bar, e)
	}
	p.bar = b.begin(podKey, step, e)
}

// settle ends the end of a pod of which nothing is left but its object: until that is deleted nothing is done.
func (b *builder) settle() {
	if p := &b.pod; p.ending && p.phaseID != 0 && !b.busy() {
		p.bar.End, p.bar.Open = later(p.bar.Begin, b.done), false
		p.bar, p.ending = nil, false
	}
}

// deleted begins the end anew when something is done after a time in which nothing was.
func (b *builder) deleted(e *journal.Entry) {
	const pause = time.Second
	if !b.pod.ending || b.at.Sub(later(b.pod.bar.Begin, b.done)) < pause {
		return
	}
	if b.settle(); !b.pod.ending {
		b.pod.switchTo(b.board, Ending, e)
		b.pod.ending = true
	}
}

// busy says that a container runs, or that something is being done.
func (b *builder) busy() bool {
	for _, l := range b.lives {
		if l.bar != nil {
			return true
		}
	}
	return len(b.calls) > 0
}

// rests begins a time in which nothing of the pod runs, until a delay is over.
func (b *builder) rests(e *journal.Entry) {
	if b.pod.bar != nil && !b.pod.ending && !b.busy() {
		b.turn(BackOff).note(e, b.language)
	}
}

// goesOn ends such a time.
func (b *builder) goesOn() {
	switch {
	case !b.pod.rested():
	case b.pod.readyID != 0 || b.pod.phase == "Running":
		b.turn(NotReady)
	default:
		b.turn(Pending)
	}
}

// turn is switchTo but for the critical path, which the container's delay is on.
func (b *builder) turn(step Step) *Bar {
	r := b.row(podKey)
	b.pod.bar.End, b.pod.bar.Open = b.at, false
	b.pod.bar = &Bar{Step: step, Label: b.label(step, &r.Row), Begin: b.at, Open: true}
	r.bars = append(r.bars, b.pod.bar)
	return b.pod.bar
}

func (p *podLife) rested() bool { return p.bar != nil && p.bar.Step == BackOff }

// decidedEnd begins the pod's end by a line of its story: because the API server deletes it, its containers
// have ended, or the node ends it.
func (b *builder) decidedEnd(e *journal.Entry) {
	if e.Container != "" || b.pod.ending {
		return
	}
	switch e.Says().Kind {
	case lifecycle.KindStopRequested:
		b.endPod(e, b.language.Word("deleted"), e.Words(b.language.Say).Because, false)
	case lifecycle.KindEvicted, lifecycle.KindDeadlineExceeded:
		w := e.Words(b.language.Say)
		b.endPod(e, w.What, w.Because, true)
	case lifecycle.KindEnds, lifecycle.KindEndedBefore:
		b.pod.switchTo(b.board, Ending, e)
		b.pod.ending = true
	default:
	}
}

// fileMilestone files a change of the status.
func (b *builder) fileMilestone(e *journal.Entry) {
	switch {
	case e.Container != "":
		b.shown(e)
	case e.Name == "phase":
		b.pod.phase = e.Value
		if (e.Value == "Succeeded" || e.Value == "Failed") && b.pod.phaseID == 0 {
			b.pod.phaseID = e.ID
		}
		if e.Value == "Running" && b.pod.bar != nil && b.pod.bar.Step == Pending {
			b.pod.switchTo(b.board, NotReady, e)
		}
	case e.Name == "Ready" && e.Value == "True":
		if b.pod.readyID == 0 {
			b.pod.readyID, b.pod.readyAt = e.ID, b.at
			b.mark(podKey, Mark{At: b.at, Name: b.language.Word("Ready")})
		}
		b.pod.switchTo(b.board, Ready, e)
	case e.Name == "Ready" && b.pod.readyID != 0 && !b.pod.rested():
		b.pod.switchTo(b.board, NotReady, e)
	}
}

// markPod ends the pod's row, and puts before it what was before the journal began.
func (b *builder) markPod(c *Chart) {
	r := b.row(podKey)
	first := c.Begin
	if len(b.record.Entries) > 0 {
		first = b.record.Entries[0].At
	}
	var before []*Bar
	add := func(step Step, begin, end time.Time) {
		if end.After(begin) {
			before = append(before, &Bar{Step: step, Label: b.label(step, &r.Row), Begin: begin, End: end})
		}
	}
	since := c.Begin
	if scheduled := b.record.Pod.Scheduled; since.Before(first) && scheduled.After(since) && !scheduled.After(first) {
		add(Scheduling, since, scheduled)
		since = scheduled
	}
	add(Admission, since, first)
	r.bars = slices.Concat(before, r.bars)
	if !c.Gone {
		b.pod.waitsFor(b.record.Now, b.language)
		b.settle()
		return
	}
	if b.pod.bar != nil {
		b.pod.bar.End, b.pod.bar.Open = c.End, false
	}
	r.Marks = append(r.Marks, Mark{At: c.End, Name: b.language.Word("gone")})
}

// waitsFor has the bar of a Pending pod say what its containers wait for, as their status does.
func (p *podLife) waitsFor(now *journal.Now, l sentence.Language) {
	if now == nil || p.bar == nil || p.bar.Step != Pending {
		return
	}
	for _, c := range now.Containers {
		if c.State != "waiting" || c.Reason == "" {
			continue
		}
		because := c.Reason
		if c.Message != "" {
			because += ": " + c.Message
		}
		p.bar.Notes = append(p.bar.Notes, Note{Text: l.Say("%s waiting: %s", c.Name, because)})
	}
}

// created is when the pod was created. The API server's times are whole seconds: they say something
// only of pods that have waited longer than that.
func (b *builder) created() time.Time {
	at := b.now
	if len(b.record.Entries) > 0 {
		at = b.record.Entries[0].At
	}
	if known := b.record.Pod.Created; !known.IsZero() && at.Sub(known) >= time.Second {
		return known
	}
	return at
}
