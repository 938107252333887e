package footprint

import (
	"os"
	"runtime"
	"runtime/metrics"
	"sync"
	"time"

	"github.com/lifepod/lifepod/internal/garbage"
)

// A program works when collections follow each other this closely, and rests when there
// was none for so long: five times, as many as there are fewer while it works.
const (
	workInterval = 2 * time.Second
	restInterval = 10 * time.Second
)

// How much garbage there may be while a program works: workGarbage percent of what is in
// use, but not more than workBytes, or Go's own limit: the more is in use
// the longer each collection takes.
const (
	workGarbage = 200
	workBytes   = 256 << 20
)

// Pace has the heap collected less often while much is allocated, and gives memory back
// when that is over. What a server makes in a burst is garbage a moment later: with
// little of it allowed, a quarter of the time goes into collections. At rest there is one
// every few minutes, and much garbage would only take memory.
type Pace struct {
	limit     func(percent int)
	giveBack  func(since time.Time) // unless somebody has since then
	inUse     func() uint64
	automatic func() uint64 // how many collections there were that nobody asked for

	mu      sync.Mutex
	ended   bool
	seen    uint64    // so many automatic collections
	last    time.Time // of the last one
	working bool
	rest    *time.Timer // runs while it works
}

// NewPace begins at rest. Stop it. Where the user has said when the heap is collected it
// does nothing.
func NewPace() *Pace {
	p := newPace(garbage.Allow, giveBackUnless, heapInUse, automaticCollections)
	if os.Getenv("GOGC") == "" {
		p.awaitCollection()
	}
	return p
}

func newPace(limit func(int), giveBack func(time.Time), inUse, automatic func() uint64) *Pace {
	p := &Pace{limit: limit, giveBack: giveBack, inUse: inUse, automatic: automatic, seen: automatic(), last: time.Now()}
	p.limit(atRest)
	return p
}

// collection is garbage that the next collection finds.
type collection struct{ of *Pace }

// awaitCollection has collected called after the next collection.
func (p *Pace) awaitCollection() {
	runtime.AddCleanup(&collection{p}, func(p *Pace) {
		if p.collected() {
			p.awaitCollection()
		}
	}, p)
}

// collected files a collection; false: it was stopped. Those that GiveBack asks for follow closely, too, and are no work: it would never
// rest.
func (p *Pace) collected() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return false
	}
	before := p.seen
	if p.seen = p.automatic(); p.seen == before {
		return true
	}
	now := time.Now()
	close := now.Sub(p.last) < workInterval
	p.last = now
	switch {
	case p.working:
		p.rest.Reset(restInterval)
		p.limit(p.percent()) // what is in use has changed
	case close:
		p.working = true
		p.rest = time.AfterFunc(restInterval, p.rests)
		p.limit(p.percent())
	}
	return true
}

// percent is what is allowed while it works.
func (p *Pace) percent() int {
	return int(min(workGarbage, max(garbage.Usual, 100*workBytes/max(1, p.inUse()))))
}

// rests is called when nothing was collected for a while.
func (p *Pace) rests() {
	p.mu.Lock()
	if p.ended || time.Since(p.last) < restInterval { // a collection came first
		p.mu.Unlock()
		return
	}
	p.working = false
	p.limit(atRest)
	last := p.last
	p.mu.Unlock()
	p.giveBack(last) // collects
}

// Stop ends it.
func (p *Pace) Stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended = true; p.rest != nil {
		p.rest.Stop()
	}
}

// heapInUse is what the last collection has left.
func heapInUse() uint64 { return metric("/gc/heap/live:bytes") }

func automaticCollections() uint64 { return metric("/gc/cycles/automatic:gc-cycles") }

// metric is a number that the Go runtime keeps.
func metric(name string) uint64 {
	sample := []metrics.Sample{{Name: name}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
