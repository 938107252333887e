package run

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"
	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/internal/plain"
	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/worker/images"
)

const (
	// progressPeriod is the time between two lines about one pull.
	progressPeriod = 5 * time.Second
	// quietPull is how long a pull lasts before a terminal shows it.
	quietPull = time.Second
	// leastImage is how many characters of an image's name are shown in any case.
	leastImage = 12
)

// pullProgress shows how far a long pull is: on a terminal a line for each pull under way, which
// are redrawn together, elsewhere a line every five seconds. Without an elapsed time the pull
// has ended.
func (p *printer) pullProgress(_ *v1.Pod, image string, progress images.Progress) {
	if p.view != nil { // a live view shows it
		return
	}
	if p.terminal && !p.json() {
		p.redrawPulls(image, progress)
		return
	}
	seconds := progress.Elapsed.Round(time.Second)
	if seconds < progressPeriod || seconds%progressPeriod != 0 {
		return
	}
	text := progress.Pulling(image, p.options.Language.Say)
	if p.json() {
		p.object(time.Now(), line{Type: "lifecycle", Subject: "pod", What: text, Rule: "A-IMG-4"})
		return
	}
	p.lifecycle(time.Now(), "pod "+text)
}

// redrawPulls shows all pulls under way, once one has come further. While the pod is being
// stopped, the countdown has the place.
func (p *printer) redrawPulls(image string, progress images.Progress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if progress.Elapsed == 0 {
		if _, shown := p.pulls[image]; !shown {
			return
		}
		delete(p.pulls, image)
	} else if progress.Elapsed >= quietPull {
		if p.pulls == nil {
			p.pulls = map[string]images.Progress{}
		}
		p.pulls[image] = progress
	}
	if p.counter != nil {
		return
	}
	var lines []string
	for _, image := range slices.Sorted(maps.Keys(p.pulls)) {
		lines = append(lines, fitPull(image, p.pulls[image], cmp.Or(plain.Columns(p.options.Stderr), 80), p.options.Language.Say))
	}
	if len(lines) == 0 {
		p.stderr.put(item{}) // which takes the place of what was shown
		return
	}
	p.stderr.put(item{text: strings.Join(lines, "\n"), redraw: true})
}

// fitPull is the text of a pull on one line of a terminal: of a long name the end is shown.
func fitPull(image string, progress images.Progress, width int, say lifecycle.Say) string {
	image = plain.Line(image)
	text := progress.Pulling(image, say)
	if over := ansi.StringWidthWc(text) - (width - 1); over > 0 {
		name := []rune(image)
		kept := max(len(name)-over-1, min(leastImage, len(name)))
		if kept < len(name) {
			text = progress.Pulling("…"+string(name[len(name)-kept:]), say)
		}
	}
	return ansi.TruncateWc(text, max(width-1, 0), "")
}
