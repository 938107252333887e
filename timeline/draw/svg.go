package draw

import (
	"embed"
	"html/template"
	"io"
	"strings"
	"sync"

	"github.com/lifepod/lifepod/internal/plain"
	"github.com/lifepod/lifepod/timeline"
)

//go:embed *.tmpl
var files embed.FS

// templates are parsed for the first picture, not whenever the program starts.
var templates = sync.OnceValue(func() *template.Template { return template.Must(template.New("").ParseFS(files, "*.tmpl")) })

//go:embed chart.css
var chartStyle string

// drawing is a picture of its own.
type drawing struct {
	Style       template.CSS
	Scene       *Scene
	Head, Sub   string
	Width       int // of all
	Left, Plot  int // of labels, and of the axis
	Height, Top int
	Shares      []shareLine
	Legend      []legendItem
	Path        string
	PathY       int
}

type shareLine struct {
	Y    int
	Text string
}

type legendItem struct {
	X, Y  int
	Class string
	Text  string
}

const (
	svgWidth   = 960
	svgMargin  = 20
	svgTop     = 64
	svgLine    = 20
	labelWidth = 170
	mostShares = 4
)

// WriteSVG draws one pod, or several in a row each.
func WriteSVG(w io.Writer, charts []*timeline.Chart) error {
	v := newView(charts)
	d := drawing{
		Style: template.CSS(chartStyle), Scene: v.scene, Head: v.head, Sub: v.sub, //nolint:gosec // our own style
		Width: svgWidth, Left: labelWidth, Plot: svgWidth - labelWidth - 2*svgMargin, Top: svgTop,
	}
	y := svgTop + v.scene.Height + 2*svgLine
	d.Path, d.PathY = v.path, y
	y += svgLine
	for _, l := range v.lines {
		d.Shares = append(d.Shares, shareLine{y, l})
		y += svgLine
	}
	y += svgLine / 2
	const legendStep = 130
	for i, l := range legendOf(charts) {
		d.Legend = append(d.Legend, legendItem{svgMargin + i*legendStep, y, l.class, l.text})
	}
	d.Height = y + svgLine
	return templates().ExecuteTemplate(w, "svg.tmpl", d)
}

// item is a word of the legend.
type item struct{ class, text string }

// legendOf is the legend of charts. Of a group nobody looks at whether its members are ready.
func legendOf(charts []*timeline.Chart) []item {
	l := charts[0].Language
	if len(charts) == 1 && charts[0].Group != nil {
		return []item{
			{"critical", l.Word("what all wait for")}, {string(timeline.Work), l.Word("starts")}, {string(timeline.Up), l.Word("runs")},
			{string(timeline.Wait), l.Word("waits")}, {string(timeline.Stop), l.Word("ends")},
		}
	}
	return []item{
		{"critical", l.Word("critical path")},
		{string(timeline.Work), l.Word("work")}, {string(timeline.Pull), l.Word("image pull")}, {string(timeline.Run), l.Word("runs, not ready")},
		{string(timeline.Up), l.Word("ready")}, {string(timeline.Wait), l.Word("waits")}, {string(timeline.Stop), l.Word("ends")},
	}
}

// view is what a picture shows of charts: of one all, of several a row each.
type view struct {
	scene     *Scene
	head, sub string
	path      string   // which critical path is shown
	lines     []string // what took most of it
}

func newView(charts []*timeline.Chart) view {
	axis := timeline.Together(charts)
	if len(charts) == 1 {
		c := charts[0]
		v := view{scene: newScene(c.Language, c.Language.Say("timeline of %s", c.Title()), c.Rows, axis, c.Begin), head: plain.Line(c.Title()), sub: about(c), path: pathText(c)}
		v.lines = shareLines(c)
		return v
	}
	charts = timeline.InTime(charts)
	last, first := timeline.Slowest(charts)
	var rows []timeline.Row
	v := view{head: countText(charts)}
	for i, c := range charts {
		row := c.Summary()
		for j := range row.Bars {
			row.Bars[j].Critical = row.Bars[j].Critical && i == last
		}
		rows = append(rows, row)
	}
	l := charts[0].Language
	v.scene = newScene(l, l.Say("timelines of %s", v.head), rows, axis, axis.Begin)
	v.sub = plain.Line(l.Say("slowest: %s, %s after %s", charts[last].Pod.FullName(), timeline.Took(charts[last].Path.At.Sub(charts[first].Path.At)), charts[first].Pod.FullName()))
	v.path = plain.Line(charts[last].Pod.FullName()) + l.Word(": ") + pathText(charts[last])
	v.lines = shareLines(charts[last])
	return v
}

// shareLines are the largest shares of a critical path, those that can be seen.
func shareLines(c *timeline.Chart) (lines []string) {
	for i := range min(mostShares, len(c.Path.Shares)) {
		if s := &c.Path.Shares[i]; s.Percent > 0 {
			lines = append(lines, shareText(c.Language, s))
		}
	}
	return lines
}

// countText names pods, as long as they are few.
func countText(charts []*timeline.Chart) string {
	const few = 3
	if len(charts) > few {
		return charts[0].Language.Count(len(charts), "pod")
	}
	var names []string
	for _, c := range charts {
		names = append(names, plain.Line(c.Pod.FullName()))
	}
	return strings.Join(names, ", ")
}
