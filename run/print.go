package run

import (
	"cmp"
	"fmt"
	"image/color"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"charm.land/lipgloss/v2"
	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/internal/plain"
	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/run/story"
	"github.com/lifepod/lifepod/worker/images"
	"github.com/lifepod/lifepod/worker/podlog"
)

// display is where a run shows what happens: container output on stdout, the lifecycle on
// stderr, a line per milestone; or, with -o json, everything on stdout, an
// object per line. But for output, nothing here blocks.
type display struct {
	// immutable
	options        Options
	several        bool // pods, or in a log with others, so that each line says whose it is
	screen         bool // stdout is a terminal, which must not obey what containers write
	terminal       bool // stderr is one, so a line may be redrawn
	coloured       struct{ stdout, stderr bool }
	stdout, stderr *stream
	view           *liveView // nil: there is no terminal for one

	mu      sync.Mutex
	counter *countdown
	pulls   map[string]images.Progress // those that a terminal shows, by image
	broken  bool                       // nobody reads stdout any more
	tell    func()                     // is to know that
	shown   int                        // pods that have a printer
}

// printer shows what happens to one pod, or, of several, what concerns them all.
type printer struct {
	*display

	// immutable
	raw  bool   // one container, whose output is shown as it is
	pod  string // begins each line of one of several pods
	hue  lipgloss.Style
	only string // the pod's only container

	memory atomic.Pointer[shown] // of the output that was written; nil: none

	// owned by the worker
	format story.Formatter
	hinted map[string]bool // by container

	last v1.PodStatus // guarded by display.mu
}

// newPrinter begins to show the life of a pod, or of several; close ends it.
func newPrinter(o Options, pods ...*v1.Pod) *printer {
	ignoreBrokenPipes()
	d := &display{options: o, several: len(pods) != 1 || o.Detach}
	_, d.screen = plain.Terminal(o.Stdout)
	_, d.terminal = plain.Terminal(o.Stderr)
	d.coloured.stdout, d.coloured.stderr = plain.Colours(o.Stdout), plain.Colours(o.Stderr)
	p := &printer{display: d, hinted: map[string]bool{}}
	p.format = story.Formatter{Began: o.Began, JSON: d.json(), Verbose: o.Verbose, Explain: o.Explain, Language: o.Language}
	if !d.several {
		p.last = pods[0].Status
		p.format.Of, p.raw = pods[0], !d.json() && story.Unprefixed(pods[0])
	}
	same := sameFile(o.Stdout, o.Stderr)
	out := o.Stdout
	if same && !d.several && o.liveView() {
		d.view = &liveView{gate: NewGate(o.Stdout, o.Language)}
		out = d.view.gate
	}
	d.stdout = newStream(out, layout{prefixed: !p.raw}, p.leftOut, d.stdoutBroke)
	d.stderr = d.stdout
	if !same {
		d.stderr = newStream(o.Stderr, layout{}, p.leftOut, func() {})
	}
	return p
}

// hues tell several pods apart on a terminal.
var hues = []color.Color{lipgloss.Cyan, lipgloss.Yellow, lipgloss.Green, lipgloss.Magenta, lipgloss.Blue, lipgloss.BrightCyan, lipgloss.BrightYellow, lipgloss.BrightGreen, lipgloss.BrightMagenta, lipgloss.BrightBlue}

// of is the printer of one of the pods, which is called name; of a single pod the printer itself.
func (p *printer) of(pod *v1.Pod, name string) *printer {
	if !p.several {
		return p
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	one := &printer{display: p.display, pod: name, hinted: map[string]bool{}, last: pod.Status, hue: lipgloss.NewStyle().Foreground(hues[p.shown%len(hues)])}
	one.format = story.Formatter{Began: p.options.Began, JSON: p.json(), Verbose: p.options.Verbose, Explain: p.options.Explain, Language: p.options.Language, Of: pod, Several: true}
	if story.Unprefixed(pod) {
		one.only = lifecycle.AllContainers(pod)[0].Name
	}
	p.shown++
	return one
}

// prefix begins a line about a container of one of several pods, or, without one, about the pod; of a single pod it is
// empty. Names have nothing in them that a terminal would obey.
func (p *printer) prefix(container string, coloured bool) string {
	text := p.pod
	if p.pod != "" && container != "" && container != p.only {
		text += "/" + container
	}
	if text != "" && coloured {
		return p.hue.Render(text)
	}
	return text
}

// onBroken has f called, once, when nobody reads stdout any more; at once if
// that is so already.
func (p *display) onBroken(f func()) {
	p.mu.Lock()
	p.tell = f
	broken := p.broken
	p.mu.Unlock()
	if broken {
		f()
	}
}

// stdoutBroke comes once: a broken stream is not written to again.
func (p *display) stdoutBroke() {
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
		p.say(p.options.Language.Say("warning: %s", p.options.Language.Word("standard output was not read to its end")))
	}
	p.stderr.close()
}

// hurry says that somebody asked for the command's end: from then on a reader
// that doesn't read is not waited for.
func (p *display) hurry() {
	p.stdout.hurried.Store(true)
	p.stderr.hurried.Store(true)
}

// abandon gives up what is not written yet, however slowly it is read: somebody
// wants the command's end now.
func (p *display) abandon() { p.stdout.abandon() }

// failure is why stdout could not be written, other than for want of a reader;
// nil if it could.
func (p *display) failure() error {
	if err, ok := p.stdout.failed.Load().(error); ok {
		return fmt.Errorf("write standard output: %w", err)
	}
	return nil
}

type line = story.Line

func (p *display) json() bool { return p.options.Output == "json" }

func (p *printer) object(at time.Time, l line) { p.stdout.put(item{text: p.encode(at, l)}) }

func (p *printer) encode(at time.Time, l line) string { return p.format.Encode(at, l) }

// leftOut says that lines were left out.
func (p *printer) leftOut(lines int) string {
	const format = "%d older lines were left out, because nobody read them"
	if p.json() {
		return p.encode(time.Now(), line{Type: "warning", Message: fmt.Sprintf(format, lines)})
	}
	return p.options.Language.Say("warning: %s", p.options.Language.Say(format, lines)) + "\n"
}

// say writes a line of text to stderr.
func (p *printer) say(text string) {
	p.show(func(v *View) { v.Said(text) })
	text = plain.Text(text) + "\n"
	if p.pod != "" {
		text = p.prefix("", p.coloured.stderr) + story.Separator + text
	}
	p.stderr.put(item{text: text})
}

// showText writes what package story has worded, if anything.
func (p *printer) showText(text string) {
	switch {
	case text == "":
	case p.json():
		p.stdout.put(item{text: text})
	default:
		p.say(strings.TrimSuffix(text, "\n"))
	}
}

// report tells a line of the pod's story.
func (p *printer) report(at time.Time, r lifecycle.Report) {
	p.showText(p.format.Report(at, r))
	p.hintPull(r)
}

// lifecycle is one line of text on stderr.
func (p *printer) lifecycle(at time.Time, text string) { p.showText(p.format.Milestone(at, text)) }

func (p *printer) event(at time.Time, e lifecycle.RecordEvent) { p.showText(p.format.Event(at, e)) }

// warner warns of something, in the language of who reads it.
type warner func(format string, args ...any)

func (p *printer) warn(format string, args ...any) {
	if p.json() {
		p.object(time.Now(), line{Type: "warning", Message: fmt.Sprintf(format, args...)})
		return
	}
	p.say(p.options.Language.Say("warning: %s", p.options.Language.Say(format, args...)))
}

// concerning shows a line about what pods are made of, such as a Job.
func (p *printer) concerning(subject, what string) {
	if p.json() {
		p.object(time.Now(), line{Type: "lifecycle", Subject: subject, What: what})
		return
	}
	p.lifecycle(time.Now(), subject+p.options.Language.Word(": ")+what)
}

// ended is the last line of JSON: the exit code, and what it comes from.
func (p *printer) ended(code int, cause line, err error) {
	if !p.json() {
		return
	}
	cause.Type, cause.ExitCode = "end", new(int32(code))
	cause.Reason = cmp.Or(cause.Reason, "Succeeded")
	if err != nil {
		cause.Reason, cause.Message = "Error", err.Error()
	}
	p.object(time.Now(), cause)
}

// kept tells where --keep has left the pod's folder and its logs.
func (p *printer) kept(podDir, logDir string) {
	if p.json() {
		p.object(time.Now(), line{Type: "lifecycle", Subject: "pod", What: "kept", Message: podDir + " " + logDir})
		return
	}
	p.say(p.options.Language.Say("kept: the pod's folder %s, its logs in %s", podDir, logDir))
}

// output is a line that a container wrote, or a part of one. It blocks while
// nobody reads stdout. until is where its newest record is in the log.
func (p *printer) output(from *source, r podlog.Record, until podlog.Place) {
	m := mark{of: p.memory.Load(), stream: key(from.container, r.Stream), at: until}
	if !p.json() {
		text := r.Text
		p.show(func(v *View) { v.Wrote(from.container, r.Stream, text) })
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
	p.show(func(v *View) { v.Address(status.PodIP) })
	p.hint(&status)
	if p.json() {
		p.object(time.Now(), line{Type: "status", PodIP: status.PodIP, Status: &status})
	}
	p.showText(p.format.Status(time.Now(), &status))
}

func (p *printer) status() v1.PodStatus {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.last
}

// hint tells, once for each container, what to do about what it waits for.
func (p *printer) hint(status *v1.PodStatus) {
	all := slices.Concat(status.InitContainerStatuses, status.ContainerStatuses, status.EphemeralContainerStatuses)
	for i := range all {
		c := &all[i]
		if w := c.State.Waiting; w == nil || w.Reason != "ErrImageNeverPull" {
			delete(p.hinted, c.Name)
			continue
		}
		if !p.hinted[c.Name] {
			p.hinted[c.Name] = true
			p.warn("%s: load the image with %q, or have it pulled: imagePullPolicy: IfNotPresent", c.Name, p.options.command("image load FILE"))
		}
	}
}
