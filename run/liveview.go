package run

import (
	"context"
	"os"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"
	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"github.com/lifepod/lifepod/why"
)

type LiveConfig struct {
	In, Out *os.File // the terminal
	Gate    *Gate    // what is written to the terminal goes through it
	// After is how long the view waits before it appears: a pod that ends at once has none.
	After time.Duration
	// Do carries out what a key asks for. It must not block.
	Do func(Action)
	// Explain says why the pod is as it is; about once a second while the user looks at that.
	Explain func() (why.Explanation, error)
	// Stderr takes lines that something has written to standard error while the view has the
	// terminal; nil: standard error is left alone.
	Stderr func(line string)
}

// Live is a view that is shown, or will be.
type Live struct {
	config LiveConfig
	ctx    context.Context // it ends when the view is to
	end    context.CancelFunc
	ended  chan struct{} // the terminal is given back

	mu   sync.Mutex
	view *View
}

// OpenLive shows a view until Close.
func OpenLive(v *View, c LiveConfig) *Live {
	l := &Live{config: c, view: v, ended: make(chan struct{})}
	l.ctx, l.end = context.WithCancel(context.Background())
	go l.run()
	return l
}

// Tell gives the view a fact; it never blocks.
func (l *Live) Tell(fact func(v *View)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	fact(l.view)
}

// patience is how long a terminal may take to take the last of what is written to it.
const patience = 2 * time.Second

// Close ends the view, and returns when the terminal is as it was before and has what was kept from
// it. One that takes nothing, because it is stopped, is not waited for.
func (l *Live) Close() {
	l.end()
	select {
	case <-l.ended:
	case <-time.After(patience):
	}
}

// run waits, and shows the view.
func (l *Live) run() {
	defer close(l.ended)
	defer l.end()
	select {
	case <-l.ctx.Done():
		return
	case <-time.After(l.config.After):
	}
	before, err := term.GetState(int(l.config.In.Fd()))
	if err != nil || !foreground(l.config.In) {
		return // it has gone, or is another job's by now
	}
	l.config.Gate.Shut()
	defer l.config.Gate.Open()
	stop := context.AfterFunc(l.ctx, func() { // also where the program can't write
		time.AfterFunc(patience/2, func() { _ = term.Restore(int(l.config.In.Fd()), before) })
	})
	defer stop()
	defer divert(l.config.Stderr)()
	program := tea.NewProgram(model{l}, tea.WithInput(l.config.In), tea.WithOutput(l.config.Out), tea.WithoutSignalHandler(), tea.WithFPS(30))
	go func() {
		<-l.ctx.Done()
		program.Quit()
	}()
	if _, err := program.Run(); err != nil {
		l.config.Gate.Ended(err)
	}
	_ = term.Restore(int(l.config.In.Fd()), before)
	_ = unix.IoctlSetInt(int(l.config.In.Fd()), unix.TCFLSH, unix.TCIFLUSH) // answers of the terminal, which nobody reads any more
}

// look reads why the pod is as it is, if the user looks at that.
func (l *Live) look() {
	var wanted bool
	l.Tell(func(v *View) { wanted = v.WantsWhy() })
	if wanted {
		e, err := l.config.Explain()
		l.Tell(func(v *View) { v.Explained(e, err) })
	}
}
