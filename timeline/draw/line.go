package draw

import (
	"math"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/lifepod/lifepod/internal/plain"
	"github.com/lifepod/lifepod/timeline"
)

// line writes a line, without spaces at its end.
func (p *page) line(text string) { p.text.WriteString(strings.TrimRight(text, " ") + "\n") }

// wrapped writes text in lines that fit, the second and later ones with an indent.
func (p *page) wrapped(text, indent string) {
	for text != "" {
		head := ansi.TruncateWc(text, p.width, "")
		if len(head) == len(text) {
			p.line(text)
			return
		}
		if i := strings.LastIndexByte(text[:len(head)+1], ' '); i > len(head)/2 {
			head = text[:i]
		}
		p.line(head)
		text = indent + strings.TrimLeft(text[len(head):], " ")
	}
}

// left is a label in its column.
func (p *page) left(label string) string {
	label = ansi.TruncateWc(label, p.labels, "…")
	return label + strings.Repeat(" ", p.labels-plain.Width(label)) + " "
}

// tickRoom is how many columns a tick needs.
const tickRoom = 9

// cutMark is where a piece of the axis was cut out.
const cutMark = '⫽'

// ticks writes the times above the axis, but none over the mark of a cut.
func (p *page) ticks() {
	line := []rune(strings.Repeat(" ", p.cells+figures))
	for _, cut := range p.axis.Cuts() {
		line[p.cell((cut[0]+cut[1])/2)] = cutMark
	}
	free := 0
	for _, t := range p.axis.Ticks(p.cells / tickRoom) {
		at := p.cell(t.Position)
		if end := at + len(t.Label); at >= free && end <= len(line) && !slices.Contains(line[at:end], cutMark) {
			copy(line[at:], []rune(t.Label))
			free = at + len(t.Label) + 1
		}
	}
	p.line(p.left("") + string(line))
}

// cell is the column of a position.
func (p *page) cell(position float64) int {
	return min(int(position*float64(p.cells)), p.cells-1)
}

// row writes a row: its label, its bars, and a figure.
func (p *page) row(label string, r *timeline.Row, figure string) {
	var out strings.Builder
	shown := ""
	for _, g := range p.glyphs(r) {
		if p.colour && g.colour != shown {
			out.WriteString(g.colour)
			shown = g.colour
		}
		out.WriteRune(g.rune)
	}
	if p.colour && shown != plainColour {
		out.WriteString(plainColour)
	}
	p.line(p.left(label) + out.String() + " " + right(figure, figures+1)[1:])
}

// glyph is one cell.
type glyph struct {
	rune   rune
	colour string
}

// glyphs are the cells of a row. A cell shows what takes most of it, but whatever there is has one
// cell at least, where another can do with one less.
func (p *page) glyphs(r *timeline.Row) []glyph {
	of, count := make([]int, p.cells), make([]int, len(r.Bars)) // which bar, 1 is the first; cells of each bar
	covers := make([]float64, p.cells)
	for i := range r.Bars {
		begin, end := p.extent(&r.Bars[i])
		for c := int(begin); c < p.cells && float64(c) < end; c++ {
			if part := math.Min(end, float64(c+1)) - math.Max(begin, float64(c)); part > covers[c] {
				of[c], covers[c] = i+1, part
			}
		}
	}
	for _, i := range of {
		if i > 0 {
			count[i-1]++
		}
	}
	for i := range r.Bars {
		begin, end := p.extent(&r.Bars[i])
		c := p.cell((begin + end) / 2 / float64(p.cells))
		if count[i] == 0 && (of[c] == 0 || count[of[c]-1] > 1) {
			if of[c] > 0 {
				count[of[c]-1]--
			}
			of[c], count[i] = i+1, 1
		}
	}
	return p.drawn(r, of)
}

// extent is from where to where a bar reaches, in cells.
func (p *page) extent(b *timeline.Bar) (begin, end float64) {
	return p.axis.Position(b.Begin) * float64(p.cells), p.axis.Position(b.End) * float64(p.cells)
}

// drawn are the cells of a row, by which bar is in each.
func (p *page) drawn(r *timeline.Row, of []int) []glyph {
	list := make([]glyph, p.cells)
	for c, i := range of {
		list[c] = glyph{' ', plainColour}
		if i == 0 {
			continue
		}
		b := &r.Bars[i-1]
		list[c] = look(b)
		if b.Failed() && (c+1 == len(of) || of[c+1] != i) {
			list[c] = glyph{'×', failed}
		}
	}
	for _, m := range r.Marks {
		if m.Failed {
			list[p.cell(p.axis.Position(m.At))] = glyph{'×', failed}
		}
	}
	return list
}

// The escapes of colours.
const (
	plainColour = "\x1b[0m"
	failed      = "\x1b[31m"
)

var looks = map[timeline.Class]struct {
	critical, usual rune
	colour          string
}{
	timeline.Work: {'█', '▄', "\x1b[34m"},
	timeline.Pull: {'█', '▄', "\x1b[36m"},
	timeline.Run:  {'▓', '▒', "\x1b[33m"},
	timeline.Up:   {'━', '━', "\x1b[32m"},
	timeline.Wait: {'░', '·', "\x1b[35m"},
	timeline.Stop: {'╌', '╌', "\x1b[90m"},
}

func look(b *timeline.Bar) glyph {
	l := looks[b.Step.Class()]
	if b.Critical {
		return glyph{l.critical, l.colour}
	}
	return glyph{l.usual, l.colour}
}

// legend says what the characters mean.
func (p *page) legend() {
	p.line("")
	p.wrapped(p.language.Word("█▓░ critical path  ▄ work  ▒ runs, not ready  ━ ready  · waits  ╌ ends  × failed"), "  ")
}
