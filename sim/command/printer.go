package command

import (
	"fmt"
	"io"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/internal/plain"
	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/run/story"
	"github.com/lifepod/lifepod/sim"
)

// printer shows a life as lifepod run does. Its writers are never slow: nothing waits for
// them in virtual time.
type printer struct {
	format         story.Formatter
	stdout, stderr io.Writer
	unprefixed     bool
	failed         error // of the first write that failed
}

func newPrinter(o *options, pod *v1.Pod, began time.Time) (*printer, error) {
	p := &printer{
		format: story.Formatter{Began: began, JSON: o.output == "json", Verbose: o.verbose || o.explain, Of: pod},
		stdout: o.stdout, stderr: o.stderr, unprefixed: story.Unprefixed(pod),
	}
	var err error
	if o.explain {
		p.format.Explain, err = story.NewRules()
	}
	return p, err
}

func (p *printer) write(w io.Writer, text string) {
	if text == "" || p.failed != nil {
		return
	}
	_, p.failed = io.WriteString(w, text)
}

// print writes what package story has worded.
func (p *printer) print(text string) {
	if p.format.JSON {
		p.write(p.stdout, text)
		return
	}
	p.write(p.stderr, text)
}

func (p *printer) Status(at time.Time, status v1.PodStatus) {
	if p.format.JSON {
		p.print(p.format.Encode(at, story.Line{Type: "status", PodIP: status.PodIP, Status: &status}))
		return
	}
	p.print(p.format.Status(at, &status))
}

func (p *printer) Event(at time.Time, e lifecycle.RecordEvent) {
	p.print(p.format.Event(at, e))
}

// Report shows a line of the story.
func (p *printer) Report(at time.Time, r lifecycle.Report) { p.print(p.format.Report(at, r)) }

// Happened shows what the scenario has happen around the pod.
func (p *printer) Happened(at time.Time, w lifecycle.Words) {
	if p.format.JSON {
		p.print(p.format.Encode(at, story.Line{Type: "scenario", Subject: w.Subject, What: w.What, Outcome: w.Outcome, Because: w.Because}))
		return
	}
	p.print(p.format.Milestone(at, w.String()))
}

// ClockSet moves the beginning with the wall clock: what is shown is the time that has passed since.
func (p *printer) ClockSet(by time.Duration) { p.format.Began = p.format.Began.Add(by) }

// Output shows what a container writes at once: a line, or several.
func (p *printer) Output(at time.Time, container, stream, text string) {
	text += "\n"
	if p.format.JSON {
		p.print(p.format.Encode(at, story.Line{Type: "output", Subject: container, Stream: stream, Text: &text}))
		return
	}
	prefix := container + story.Separator
	if p.unprefixed {
		prefix = ""
	}
	for line := range strings.Lines(plain.Text(text)) {
		p.write(p.stdout, prefix+line)
	}
}

// last says how the simulation ends if the pod does not.
func (p *printer) last(at time.Time, text string) {
	if p.format.JSON {
		p.print(p.format.Encode(at, story.Line{Type: "simulation", What: text}))
		return
	}
	p.print(p.format.Milestone(at, text))
}

// breach writes an object for an assertion that fails.
func (p *printer) breach(b sim.Breach) {
	at := p.format.Began.Add(time.Duration(b.At * float64(time.Second))).Round(time.Millisecond)
	text, err := encode(breachLine{Time: at, Elapsed: b.At, Type: "assertion", Breach: b}, "")
	if err != nil {
		panic(err) // every field is plain data
	}
	p.print(string(text))
}

// breachLine is the object, with what all of them begin with.
type breachLine struct {
	Time    time.Time `json:"time"`
	Elapsed float64   `json:"elapsedSeconds"`
	Type    string    `json:"type"`
	sim.Breach
}

func (p *printer) warn(text string) {
	if p.format.JSON {
		p.print(p.format.Encode(p.format.Began, story.Line{Type: "warning", Message: text}))
		return
	}
	p.print(fmt.Sprintf("warning: %s\n", plain.Text(text)))
}
