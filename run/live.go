package run

import (
	"os"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/internal/plain"
	"github.com/lifepod/lifepod/internal/rootfolder"
	"github.com/lifepod/lifepod/journal"
	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/pods"
	"github.com/lifepod/lifepod/why"
)

// quietLife is how long a pod lives before its live view appears: of one that has ended by then its
// lines tell all.
const quietLife = time.Second

type liveView struct {
	gate  *Gate                // before its terminal
	shown atomic.Pointer[Live] // nil: the pod's life has not begun
}

// liveView says whether the pod is to be shown in a live view: on a terminal that is both input and
// output, unless the user wants lines.
func (o Options) liveView() bool {
	in, isFile := o.Stdin.(*os.File)
	out, alsoFile := o.Stdout.(*os.File)
	return !o.Plain && o.Output == "" && isFile && alsoFile && LiveUsable(in, out, os.Getenv("TERM"))
}

// openView shows the life of a single pod, if there is a terminal for it.
func (l *lives) openView() {
	if l.printer.view == nil {
		return
	}
	r := l.all[0]
	p, life := r.printer, r.life
	pod := life.Worker.Pod()
	c := LiveConfig{ // liveView has seen that these are files
		In: r.options.Stdin.(*os.File), Out: r.options.Stdout.(*os.File), Gate: p.view.gate, After: quietLife,
		Do: func(a Action) { r.act(life, a) },
		Explain: func() (why.Explanation, error) {
			record, err := journal.Folder{Dir: rootfolder.Journal.In(r.runtime.Root)}.Read(string(pod.UID))
			if err != nil {
				return why.Explanation{}, err
			}
			return why.Explain(record, time.Now(), r.options.Language), nil
		},
	}
	if r.options.Stderr == os.Stderr {
		c.Stderr = p.say
	}
	v := NewView(pod, r.options.Began, plain.Colours(r.options.Stdout))
	v.language = r.options.Language
	p.view.shown.Store(OpenLive(v, c))
}

// inLiveView is why something is asked for with a key.
var inLiveView = lifecycle.Because{Kind: "asked-for-in-the-live-view"}

// act does what a key of the view asks for.
func (r *runOf) act(life *pods.Life, a Action) {
	switch a.Do {
	case Restart:
		life.Tell(lifecycle.RestartRequested{Container: a.Container, Because: inLiveView})
	case Stop:
		r.stopper.stop(inLiveView)
	case Interrupt:
		r.stopper.signal("SIGINT")
	case Kill:
		r.stopper.signal("SIGQUIT")
	case Nothing, Suspend:
	}
}

// show gives the live view a fact, if there is one.
func (p *printer) show(fact func(v *View)) {
	if p.view == nil {
		return
	}
	if l := p.view.shown.Load(); l != nil {
		l.Tell(fact)
	}
}

// now takes how the pod is after a step.
func (p *printer) now(pod *v1.Pod, now journal.Now) {
	p.show(func(v *View) { v.Now(pod, now) })
}

// closeView ends the live view, if there is one: what comes is lines again.
func (p *printer) closeView() {
	if p.view == nil {
		return
	}
	if l := p.view.shown.Load(); l != nil {
		l.Close()
	}
}

// LiveUsable says whether files are a terminal that can show a view, and that this process may use: that
// of a shell's background job is another's.
func LiveUsable(in, out *os.File, termName string) bool {
	return termName != "" && termName != "dumb" && term.IsTerminal(int(in.Fd())) && term.IsTerminal(int(out.Fd())) && foreground(in)
}

// foreground says whether this process is of the job that has the terminal.
func foreground(terminal *os.File) bool {
	job, err := unix.IoctlGetInt(int(terminal.Fd()), unix.TIOCGPGRP)
	return err == nil && job == unix.Getpgrp()
}
