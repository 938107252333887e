package draw

import (
	"crypto/sha256"
	_ "embed" // of the page's own style and script
	"encoding/base64"
	"html/template"
	"io"
	"strconv"
	"time"

	"github.com/lifepod/lifepod/internal/plain"
	"github.com/lifepod/lifepod/internal/sentence"
	"github.com/lifepod/lifepod/timeline"
)

var (
	//go:embed page.css
	pageStyle string
	//go:embed page.js
	pageScript string
)

// svgPage is what page.tmpl fills in.
type svgPage struct {
	Language sentence.Language
	Policy   string
	Style    template.CSS
	Script   template.JS
	Title    string
	Sub      string
	Overview *Scene // of several pods; nil: there is one
	Lines    []string
	Pods     []Drawing
	Legend   []struct{ Class, Text string }
}

// Drawing is a pod in full: its chart, and all that it shows in words.
type Drawing struct {
	ID    string      `json:"-"` // in the page
	Name  string      `json:"name"`
	Sub   string      `json:"sub"`
	Scene *Scene      `json:"scene"`
	Path  string      `json:"path"` // "critical path to Ready, 10.3s"
	Parts []SharePart `json:"parts,omitempty"`
	Steps []StepRow   `json:"steps,omitempty"`
}

// SharePart is a share of the critical path.
type SharePart struct {
	Text  string         `json:"text"`
	X     string         `json:"x"`
	Width string         `json:"width"`
	Class timeline.Class `json:"class"`
}

// StepRow is a row of the table: a bar, or a mark.
type StepRow struct {
	Row      string          `json:"row"`
	Step     string          `json:"step"`
	Begin    string          `json:"begin"`
	Took     string          `json:"took,omitempty"`
	Critical bool            `json:"critical,omitempty"`
	Failed   bool            `json:"failed,omitempty"`
	Notes    []timeline.Note `json:"notes,omitempty"`
}

// WritePage writes a page about one pod or several.
func WritePage(w io.Writer, charts []*timeline.Chart) error {
	charts = timeline.InTime(charts)
	style := chartStyle + pageStyle
	p := svgPage{
		Language: charts[0].Language,
		Policy:   "default-src 'none'; style-src " + hash(style) + "; script-src " + hash(pageScript) + "; base-uri 'none'; form-action 'none'",
		Style:    template.CSS(style), Script: template.JS(pageScript), //nolint:gosec // our own
	}
	for _, l := range legendOf(charts) {
		p.Legend = append(p.Legend, struct{ Class, Text string }{l.class, l.text})
	}
	v := newView(charts)
	p.Title, p.Sub, p.Lines = v.head, v.sub, v.lines
	if len(charts) > 1 {
		p.Overview = v.scene
	}
	for i, c := range charts {
		p.Pods = append(p.Pods, partOf(i, c))
	}
	return templates().ExecuteTemplate(w, "page.tmpl", p)
}

// hash names style or script in a policy of content.
func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

func partOf(i int, c *timeline.Chart) Drawing {
	part := Drawing{
		ID: "pod-" + strconv.Itoa(i), Name: plain.Line(c.Title()), Sub: about(c),
		Scene: newScene(c.Language, c.Language.Say("timeline of %s", c.Title()), c.Rows, timeline.Together([]*timeline.Chart{c}), c.Begin),
	}
	part.Path = pathText(c)
	part.Parts = partsOf(c)
	for _, r := range c.Rows {
		part.Steps = append(part.Steps, stepsOf(c.Language, &r, c.Begin)...)
	}
	return part
}

// partsOf are the shares of a path as one bar, one after the other.
func partsOf(c *timeline.Chart) (list []SharePart) {
	at, whole := 0.0, float64(c.Path.Duration())
	for _, s := range c.Path.Shares {
		if s.Percent == 0 {
			break // nobody can see it, and the table has it
		}
		width := float64(s.Took) / whole
		part := SharePart{Text: shareText(c.Language, &s), X: asPercent(at), Width: asPercent(width), Class: timeline.Work}
		for _, p := range c.Path.Pieces {
			if p.Label == s.Label {
				part.Class = p.Step.Class()
			}
		}
		list = append(list, part)
		at += width
	}
	return list
}

func stepsOf(l sentence.Language, r *timeline.Row, begin time.Time) (list []StepRow) {
	for _, b := range r.Bars {
		took := timeline.Took(b.Duration())
		if b.Open {
			took += l.Word(", goes on")
		}
		list = append(list, StepRow{
			Row: plain.Line(r.In(l)), Step: plain.Line(b.Name(l)), Begin: "+" + timeline.Took(b.Begin.Sub(begin)), Took: took,
			Critical: b.Critical, Failed: b.Failed(), Notes: b.Detail(l),
		})
	}
	for _, m := range r.Marks {
		row := StepRow{Row: plain.Line(r.In(l)), Step: plain.Line(m.Name), Begin: "+" + timeline.Took(m.At.Sub(begin)), Failed: m.Failed}
		if m.Text != "" {
			row.Notes = []timeline.Note{{Text: plain.Line(m.Text)}}
		}
		list = append(list, row)
	}
	return list
}

// Draw is the drawing of one pod, for who shows it in a page of their own: with Style, and all of
// its text is as package plain leaves it.
func Draw(c *timeline.Chart) Drawing { return partOf(0, c) }

// DrawRow is one pod in one lane: its critical path and what became of it.
func DrawRow(c *timeline.Chart) *Scene {
	return newScene(c.Language, c.Language.Say("timeline of %s", c.Pod.FullName()), []timeline.Row{c.Summary()}, timeline.Together([]*timeline.Chart{c}), c.Begin)
}

// Style is the style of drawings: their colours, light and dark.
func Style() string { return chartStyle }
