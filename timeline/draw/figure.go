package draw

import (
	"fmt"
	"time"

	"github.com/lifepod/lifepod/timeline"
)

// figure is what a row adds up to: how long the work took, how long the container ran and how often,
// how many attempts of a probe failed.
func (p *page) figure(r *timeline.Row) string {
	switch {
	case r.Kind == timeline.ProbeRow:
		return p.language.Say("%d failed", len(r.Marks))
	case r.Kind == timeline.ContainerRow:
		return runs(r)
	case len(r.Bars) == 0:
		return ""
	}
	var took time.Duration
	for _, b := range r.Bars {
		if class := b.Step.Class(); r.Kind == timeline.PodRow || class != timeline.Wait && class != timeline.Stop {
			took += b.Duration()
		}
	}
	return timeline.Took(took)
}

// runs is how long a container ran, and how many instances of it; empty: none.
func runs(r *timeline.Row) string {
	var took time.Duration
	attempts := map[uint32]bool{}
	for _, b := range r.Bars {
		if class := b.Step.Class(); class == timeline.Run || class == timeline.Up || class == timeline.Stop {
			attempts[b.Attempt] = true
			took += b.Duration()
		}
	}
	text := timeline.Took(took)
	if len(attempts) > 1 {
		text += fmt.Sprintf(" ×%d", len(attempts))
	}
	switch {
	case len(attempts) == 0:
		return ""
	case len([]rune(text)) > figures:
		return fmt.Sprintf("×%d", len(attempts))
	}
	return text
}
