package run

import (
	"fmt"
	"io"
	"time"
)

// countdown shows how much of the grace is left while a pod ends: on a terminal
// a line that is redrawn each second, elsewhere a line every ten seconds.
type countdown struct {
	shown bool // the redrawn line stands there
	over  bool // nothing is left to wait for
}

func (c *countdown) wipe(w io.Writer) {
	if c != nil && c.shown {
		_, _ = io.WriteString(w, "\r\x1b[K") // erase the line
		c.shown = false
	}
}

// countDown shows what is left until deadline, each second, until done.
func (p *printer) countDown(deadline time.Time, done <-chan struct{}) {
	p.mu.Lock()
	begun := p.counter != nil
	if !begun {
		p.counter = &countdown{}
	}
	p.mu.Unlock()
	if begun || p.json() {
		return
	}
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case now := <-tick.C:
			p.count(now, deadline)
		case <-done:
			return
		}
	}
}

// endCountDown wipes the countdown: the pod is gone, or killed.
func (p *printer) endCountDown() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.counter.wipe(p.options.Stderr)
	p.counter = &countdown{over: true}
}

// count shows what is left at one moment of the countdown.
func (p *printer) count(now, deadline time.Time) {
	left := deadline.Sub(now).Round(time.Second)
	p.mu.Lock()
	defer p.mu.Unlock()
	if left <= 0 || p.counter.over {
		return
	}
	if p.terminal {
		_, _ = fmt.Fprintf(p.options.Stderr, "\r\x1b[Kstopping, %v of the grace left, Ctrl-C kills", left)
		p.counter.shown = true
		return
	}
	if int(left.Seconds())%10 == 0 {
		_, _ = fmt.Fprintf(p.options.Stderr, "+%.3fs stopping, %v of the grace left\n", now.Sub(p.options.Began).Seconds(), left)
	}
}
