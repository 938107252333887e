package run

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"
	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/cri"
	"github.com/lifepod/lifepod/internal/plain"
	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/run/live"
	"github.com/lifepod/lifepod/run/view"
	"github.com/lifepod/lifepod/worker/crilog"
	"github.com/lifepod/lifepod/worker/images"
)

// printer shows what happens: container output on stdout, the lifecycle on
// stderr, a line per milestone; or, with -o json, everything on stdout, an
// object per line. But for output, nothing here blocks.
type printer struct {
	// immutable
	options        Options
	raw            bool // one container, whose output is shown as it is
	screen         bool // stdout is a terminal, which must not obey what containers write
	terminal       bool // stderr is one, so a line may be redrawn
	stdout, stderr *stream
	view           *liveView // nil: there is no terminal for one

	// owned by the worker
	attempts attempts
	hinted   map[string]bool // by container

	mu      sync.Mutex
	last    v1.PodStatus
	counter *countdown
	pulls   map[string]images.Progress // those that a terminal shows, by image
	broken  bool                       // nobody reads stdout any more
	tell    func()                     // is to know that
}

// newPrinter begins to show a pod's life; close ends it.
func newPrinter(o Options, pod *v1.Pod) *printer {
	ignoreBrokenPipes()
	p := &printer{options: o, last: pod.Status, screen: isTerminal(o.Stdout), terminal: isTerminal(o.Stderr), attempts: attempts{}, hinted: map[string]bool{}}
	p.raw = o.Output != "json" && len(pod.Spec.Containers)+len(pod.Spec.InitContainers) == 1
	same := sameFile(o.Stdout, o.Stderr)
	out := o.Stdout
	if same && o.liveView() {
		p.view = &liveView{gate: live.NewGate(o.Stdout)}
		out = p.view.gate
	}
	p.stdout = newStream(out, layout{prefixed: !p.raw}, p.stdoutBroke)
	if p.json() {
		p.stdout.leftOut = p.encodeLeftOut
	}
	p.stderr = p.stdout
	if !same {
		p.stderr = newStream(o.Stderr, layout{}, func() {})
	}
	return p
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// onBroken has f called, once, when nobody reads stdout any more; at once if
// that is so already.
func (p *printer) onBroken(f func()) {
	p.mu.Lock()
	p.tell = f
	broken := p.broken
	p.mu.Unlock()
	if broken {
		f()
	}
}

// stdoutBroke comes once: a broken stream is not written to again.
func (p *printer) stdoutBroke() {
	p.mu.Lock()
	p.broken = true
	tell := p.tell
	p.mu.Unlock()
	if tell != nil {
		tell()
	}
}

// close returns when all is written, or when nobody reads. Also with -o json
// stderr is then the place to say so.
func (p *printer) close() {
	if !p.stdout.close() && p.stderr != p.stdout {
		p.say("warning: standard output was not read to its end")
	}
	p.stderr.close()
}

// hurry says that somebody asked for the command's end: from then on a reader
// that doesn't read is not waited for.
func (p *printer) hurry() {
	p.stdout.hurried.Store(true)
	p.stderr.hurried.Store(true)
}

// abandon gives up what is not written yet, however slowly it is read: somebody
// wants the command's end now.
func (p *printer) abandon() { p.stdout.abandon() }

// failure is why stdout could not be written, other than for want of a reader;
// nil if it could.
func (p *printer) failure() error {
	if err, ok := p.stdout.failed.Load().(error); ok {
		return fmt.Errorf("write standard output: %w", err)
	}
	return nil
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
func (p *printer) object(at time.Time, l line) { p.stdout.put(item{text: p.encode(at, l)}) }

func (p *printer) encode(at time.Time, l line) string {
	l.Time, l.Elapsed = at, at.Sub(p.options.Began).Round(time.Millisecond).Seconds()
	data, err := json.Marshal(l)
	if err != nil {
		panic(err) // every field is plain data
	}
	return string(plain.JSON(data)) + "\n"
}

func (p *printer) encodeLeftOut(lines int) string {
	text := strings.TrimPrefix(strings.TrimSpace(saidLeftOut(lines)), "warning: ")
	return p.encode(time.Now(), line{Type: "warning", Message: text})
}

// say writes a line of text to stderr.
func (p *printer) say(text string) {
	p.show(func(v *view.View) { v.Told(text) })
	p.stderr.put(item{text: plain.Text(text) + "\n"})
}

// report tells a line of the pod's story. As text, a failure that attempts repeat is
// told once.
func (p *printer) report(at time.Time, r lifecycle.Report) {
	if p.json() {
		p.object(at, line{Type: "lifecycle", Subject: r.Subject, What: r.What, Outcome: r.Outcome, Because: r.Because, Rule: r.Rule})
		return
	}
	text := cri.Reason(p.attempts.toTell(r))
	if text == "" {
		return
	}
	if p.options.Verbose {
		text += "  [" + r.Rule + "]"
	}
	p.lifecycle(at, text)
}

// lifecycle is one line of text on stderr: elapsed time, what, why. A message may have
// several, such as that of a probe, which has the output of its command.
func (p *printer) lifecycle(at time.Time, text string) {
	p.say(fmt.Sprintf("+%.3fs %s", at.Sub(p.options.Began).Seconds(), plain.Line(text)))
}

func (p *printer) event(at time.Time, e lifecycle.RecordEvent) {
	if p.json() {
		p.object(at, line{Type: "event", Subject: e.FieldPath, What: e.Type, Reason: e.Reason, Message: e.Message})
		return
	}
	if p.options.Verbose {
		p.lifecycle(at, fmt.Sprintf("event %s %s %s: %s", e.Type, e.Reason, cmp.Or(e.FieldPath, "pod"), e.Message))
	}
}

func (p *printer) warn(text string) {
	if p.json() {
		p.object(time.Now(), line{Type: "warning", Message: text})
		return
	}
	p.say("warning: " + text)
}

// kept tells where --keep has left the pod's folder and its logs.
func (p *printer) kept(podDir, logDir string) {
	if p.json() {
		p.object(time.Now(), line{Type: "lifecycle", Subject: "pod", What: "kept", Message: podDir + " " + logDir})
		return
	}
	p.say("kept: the pod's folder " + podDir + ", its logs in " + logDir)
}

// output is a line that a container wrote, or a part of one. It blocks while
// nobody reads stdout. until is where its newest record is in the log.
func (p *printer) output(from *source, r crilog.Record, until crilog.Place) {
	m := mark{stream: key(from.container, r.Stream), at: until}
	if !p.json() {
		text := r.Text
		p.show(func(v *view.View) { v.Wrote(from.container, r.Stream, text) })
		if p.screen {
			text = from.shown.Text(text)
		}
		p.stdout.putOutput(item{text: text, source: from, mark: m})
		return
	}
	l := line{Type: "output", Subject: from.container, Stream: r.Stream, Text: &r.Text}
	p.stdout.putOutput(item{text: p.encode(r.Time, l), mark: m})
}

func (p *printer) setStatus(status v1.PodStatus) {
	p.mu.Lock()
	p.last = status
	p.mu.Unlock()
	p.show(func(v *view.View) { v.Address(status.PodIP) })
	p.hint(&status)
	if p.json() {
		p.object(time.Now(), line{Type: "status", Status: &status})
	}
}

func (p *printer) status() v1.PodStatus {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.last
}
