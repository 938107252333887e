package run

import (
	"fmt"
	"time"
)

// countdown shows how much of the grace is left while a pod ends: on a terminal
// a line that is redrawn each second, elsewhere a line every ten seconds.
type countdown struct {
	over bool // nothing is left to wait for
}

// countDown shows what is left until deadline, each second, until done.
func (p *printer) countDown(deadline time.Time, done <-chan struct{}) {
	p.mu.Lock()
	begun := p.counter != nil
	if !begun {
		p.counter = &countdown{}
	}
	p.mu.Unlock()
	if begun || p.json() || p.view != nil { // a live view shows it
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
	if p.counter != nil && !p.counter.over {
		p.stderr.put(item{}) // it has no text, and takes the countdown's place
	}
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
		p.stderr.put(item{text: p.options.Language.Say("stopping, %v of the grace period left; press Ctrl-C again to kill", left), redraw: true})
		return
	}
	if int(left.Seconds())%10 == 0 {
		p.say(fmt.Sprintf("+%.3fs ", now.Sub(p.options.Began).Seconds()) + p.options.Language.Say("stopping, %v of the grace period left", left))
	}
}
