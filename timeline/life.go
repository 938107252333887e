package timeline

import (
	"github.com/lifepod/lifepod/journal"
)

// life is how a container's newest instance is.
type life struct {
	row     rowKey
	attempt uint32
	bar     *Bar // what it does at the moment; nil: no instance runs

	started, ready, postStart, preStop, stopping bool
}

func (b *builder) life(container string) *life {
	l := b.lives[container]
	if l == nil {
		l = &life{row: rowKey{kind: ContainerRow, container: container, name: container}}
		b.lives[container] = l
	}
	return l
}

// step is what the instance does.
func (l *life) step(of string) Step {
	switch {
	case l.stopping:
		return Stopping
	case l.preStop:
		return PreStop
	case l.postStart:
		return PostStart
	case of == "init" || of == "ephemeral":
		return Runs
	case l.ready:
		return Ready
	case l.started:
		return NotReady
	default:
		return Startup
	}
}

// runs says that an instance runs from now on.
func (b *builder) runs(e *journal.Entry) {
	l, this := b.life(e.Container), instance{e.Container, e.Attempt}
	if _, before := b.instances[this]; before || e.Container == "" {
		return
	}
	if l.bar != nil { // nobody saw it end
		b.end(l.bar, e)
	}
	for id, c := range b.calls { // the runtime says that it runs before it answers
		if c.bar.Step == Start && c.of == l.row && c.bar.Attempt == e.Attempt {
			b.end(c.bar, e)
			delete(b.calls, id)
		}
	}
	*l = life{row: l.row, attempt: e.Attempt}
	b.instances[this] = e.ID
	l.bar = b.begin(l.row, l.step(b.kindOf(e.Container)), e)
}

// switchTo goes on to what the instance does now. What took no time is no step.
func (l *life) switchTo(b *board, e *journal.Entry) {
	if l.bar == nil {
		return
	}
	r := b.row(l.row)
	step := l.step(r.Of)
	switch {
	case step == l.bar.Step:
	case l.bar.Begin.Equal(b.at):
		l.bar.Step, l.bar.Label = step, b.label(step, &r.Row)
		b.begun[e.ID] = l.bar
		b.explain(l.bar, e)
	default:
		b.end(l.bar, e)
		l.bar = b.begin(l.row, step, e)
		l.bar.Attempt = l.attempt
	}
}

// beginOfEnd files a hook, or the signal that ends an instance.
func (b *builder) beginOfEnd(e *journal.Entry) {
	l := b.life(e.Container)
	switch {
	case e.Name == "StopContainer":
		l.stopping = true
	case e.Detail[journal.DetailHook] == "PreStop":
		l.preStop = true
	default:
		l.postStart = true
	}
	l.switchTo(b.board, e)
}

func (b *builder) hookEnded(e *journal.Entry) {
	l := b.life(e.Container)
	if l.bar != nil && (l.bar.Step == PreStop || l.bar.Step == PostStart) {
		l.bar.Failure = e.Failure
	}
	l.preStop, l.postStart = false, false
	l.switchTo(b.board, e)
}

// exited ends an instance. One of which the journal does not know that it began, ran since the
// runtime says so.
func (b *builder) exited(e *journal.Entry) {
	l := b.life(e.Container)
	if l.bar == nil {
		if e.Exit.StartedAt.IsZero() || !e.Exit.StartedAt.Before(b.at) {
			return
		}
		b.runs(e)
		if l.bar == nil {
			return
		}
		l.bar.Begin = e.Exit.StartedAt
	}
	b.end(l.bar, e)
	l.bar.Exit, l.bar = e.Exit, nil
	b.delays[delayKey(e)] = &delay{since: b.at, entry: e, row: l.row}
}

// shown files a milestone of a container.
func (b *builder) shown(e *journal.Entry) {
	l, is := b.life(e.Container), e.Value == "true"
	switch {
	case e.Name == "state" && e.Value == "running" && l.bar == nil:
		b.runs(e)
	case e.Name == "state" && e.Value == "terminated" && l.bar != nil && l.attempt == e.Attempt:
		b.end(l.bar, e) // nobody saw its exit
		l.bar = nil
	case e.Name == "started":
		l.started = is
		l.switchTo(b.board, e)
	case e.Name == "ready":
		l.ready = is
		l.switchTo(b.board, e)
	}
}

// probed marks the failure of a probe.
func (b *board) probed(e *journal.Entry) {
	probe := e.Detail[journal.DetailProbe]
	if e.Value == "success" || e.Value == "warning" || probe == "" {
		return
	}
	name := b.language.Word("failed")
	if n := e.Detail[journal.DetailFailures]; n != "" {
		name += b.language.Say(", %s in a row", n)
	}
	key := rowKey{kind: ProbeRow, container: e.Container, name: probe + " probe of " + e.Container}
	b.mark(key, Mark{At: b.at, Name: name, Text: e.Detail[journal.DetailOutput], Failed: true})
}
