package run

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	units "github.com/docker/go-units"
	"golang.org/x/term"
	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/agent/images"
	"github.com/lifepod/lifepod/lifecycle"
)

// printer shows what happens: container output on stdout, the lifecycle on
// stderr, a line per milestone; or, with -o json, everything on stdout, an
// object per line.
type printer struct {
	options  Options
	prefixed bool // several containers: output lines carry the container's name
	terminal bool // stderr is one, so a line may be redrawn

	mu      sync.Mutex
	last    v1.PodStatus
	counter *countdown
}

func newPrinter(o Options, pod *v1.Pod) *printer {
	p := &printer{options: o, prefixed: len(pod.Spec.Containers)+len(pod.Spec.InitContainers) > 1}
	if f, ok := o.Stderr.(*os.File); ok {
		p.terminal = term.IsTerminal(int(f.Fd()))
	}
	p.last = pod.Status
	return p
}

// line is one JSON object of -o json; fields that don't apply are left out.
type line struct {
	Time    time.Time     `json:"time"`
	Elapsed float64       `json:"elapsedSeconds"`
	Type    string        `json:"type"` // lifecycle, event, status, output, warning
	Subject string        `json:"subject,omitempty"`
	What    string        `json:"what,omitempty"`
	Outcome string        `json:"outcome,omitempty"`
	Because string        `json:"because,omitempty"`
	Rule    string        `json:"rule,omitempty"`
	Reason  string        `json:"reason,omitempty"`
	Message string        `json:"message,omitempty"`
	Stream  string        `json:"stream,omitempty"`
	Text    *string       `json:"text,omitempty"`
	Status  *v1.PodStatus `json:"status,omitempty"`
}

func (p *printer) json() bool { return p.options.Output == "json" }

// object writes one line of JSON.
func (p *printer) object(at time.Time, l line) {
	l.Time, l.Elapsed = at, at.Sub(p.options.Began).Round(time.Millisecond).Seconds()
	data, err := json.Marshal(l)
	if err != nil {
		panic(err) // every field is plain data
	}
	p.write(p.options.Stdout, string(data)+"\n")
}

// write puts out whole lines; a countdown that stands there is wiped first.
func (p *printer) write(w io.Writer, text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.counter.wipe(p.options.Stderr)
	_, _ = io.WriteString(w, text) // nobody is left to tell when this fails
}

func (p *printer) report(at time.Time, r lifecycle.Report) {
	if p.json() {
		p.object(at, line{Type: "lifecycle", Subject: r.Subject, What: r.What, Outcome: r.Outcome, Because: r.Because, Rule: r.Rule})
		return
	}
	text := r.String()
	if p.options.Verbose {
		text += "  [" + r.Rule + "]"
	}
	p.lifecycle(at, text)
}

// lifecycle is one line of text on stderr: elapsed time, what, why.
func (p *printer) lifecycle(at time.Time, text string) {
	p.write(p.options.Stderr, fmt.Sprintf("+%.3fs %s\n", at.Sub(p.options.Began).Seconds(), text))
}

func (p *printer) event(at time.Time, e lifecycle.RecordEvent) {
	if p.json() {
		p.object(at, line{Type: "event", Subject: e.FieldPath, What: e.Type, Reason: e.Reason, Message: e.Message})
		return
	}
	if p.options.Verbose {
		p.lifecycle(at, fmt.Sprintf("event %s %s %s: %s", e.Type, e.Reason, e.FieldPath, e.Message))
	}
}

func (p *printer) warn(text string) {
	if p.json() {
		p.object(time.Now(), line{Type: "warning", Message: text})
		return
	}
	p.write(p.options.Stderr, "warning: "+text+"\n")
}

// progressPeriod is the time between two lines about one pull.
const progressPeriod = 5 * time.Second

// pullProgress shows how far a long pull is.
func (p *printer) pullProgress(_ *v1.Pod, image string, progress images.Progress) {
	seconds := progress.Elapsed.Round(time.Second)
	if seconds < progressPeriod || seconds%progressPeriod != 0 {
		return
	}
	text := fmt.Sprintf("pulling %s for %v", image, seconds)
	if progress.TotalBytes > 0 {
		text += fmt.Sprintf(", %s of %s", units.BytesSize(float64(progress.DoneBytes)), units.BytesSize(float64(progress.TotalBytes)))
	}
	p.report(time.Now(), lifecycle.Report{Subject: "pod", What: text, Rule: "A-IMG-4"})
}

// swept tells of a pod that a killed lifepod had left.
func (p *printer) swept(pod string) {
	p.warn("swept up pod " + pod + ", left by a lifepod that was killed")
}

func (p *printer) kept(podDir, logDir string) {
	if p.json() {
		p.object(time.Now(), line{Type: "lifecycle", Subject: "pod", What: "kept", Message: podDir + " " + logDir})
		return
	}
	p.write(p.options.Stderr, "kept: volumes in "+podDir+", logs in "+logDir+"\n")
}

// output is a line that a container wrote, with its newline if it had one.
func (p *printer) output(container, stream string, at time.Time, text string) {
	switch {
	case p.json():
		p.object(at, line{Type: "output", Subject: container, Stream: stream, Text: &text})
	case p.prefixed:
		p.write(p.options.Stdout, container+" | "+text)
	default:
		p.write(p.options.Stdout, text)
	}
}

func (p *printer) setStatus(status v1.PodStatus) {
	p.mu.Lock()
	p.last = status
	p.mu.Unlock()
	if p.json() {
		p.object(time.Now(), line{Type: "status", Status: &status})
	}
}

func (p *printer) status() v1.PodStatus {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.last
}
