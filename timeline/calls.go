package timeline

import (
	"github.com/lifepod/lifepod/journal"
)

// fileBegun begins the bar of work.
func (b *builder) fileBegun(e *journal.Entry) {
	switch e.Name {
	case "RunHook", "StopContainer":
		b.beginOfEnd(e)
		return
	case "Finish":
		b.pod.gone = true
		return
	}
	does, known := works[e.Name]
	if !known || e.Name == "RemoveContainer" && b.life(e.Container).bar != nil {
		return
	}
	key := rowKey{kind: does.kind, container: e.Container, name: nameOf(does.kind, e)}
	if e.Image != "" && e.Container == "" {
		key.kind = ImageRow // also the look for a volume's image: that has no other row
	}
	if e.Name != "RemoveContainer" {
		if b.delays.end(b.board, e) {
			b.goesOn()
		}
	}
	b.deleted(e)
	bar := b.begin(key, does.step, e)
	bar.Image = e.Image
	b.calls[e.ID] = &call{bar, key}
}

// volumeImage begins the name of the row of an image that is mounted.
const volumeImage = "image of volume "

func nameOf(kind RowKind, e *journal.Entry) string {
	switch {
	case e.Container == "" && e.Image != "":
		return volumeImage + e.Detail[journal.DetailVolume]
	case kind == ImageRow:
		return "image of " + e.Container
	case kind == ContainerRow:
		return e.Container
	}
	return string(kind)
}

// fileAnswered ends the bar of work.
func (b *builder) fileAnswered(e *journal.Entry) {
	if c := b.calls[e.Cause]; c != nil {
		delete(b.calls, e.Cause)
		b.end(c.bar, e)
		c.bar.Failure, c.bar.Bytes = e.Failure, e.Bytes
		if e.Failure != nil {
			b.delays[delayKey(e)] = &delay{since: b.at, entry: e, row: c.of}
		}
	}
	switch {
	case e.Name == "RunHook":
		b.hookEnded(e)
	case e.Name == "StartContainer" && e.Failure == nil:
		b.runs(e)
	}
}
