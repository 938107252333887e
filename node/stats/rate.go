package stats

import (
	"sync"
	"time"
)

const (
	// rateSpan is how long a reading is kept to compare later ones with: a rate
	// over less would jump about, and many who ask must not shorten it.
	rateSpan = 10 * time.Second
	// rateForgotten is when nobody has asked for something any more.
	rateForgotten = 10 * time.Minute
)

// rates tell how fast a counter grows, from what was read when somebody asked before.
type rates struct {
	mu sync.Mutex
	of map[string]rate
}

type rate struct{ older, newer sample }

type sample struct {
	at    time.Time
	value uint64
}

// nanoCores is the use of CPU in billionths of a core, of something that has used
// nanos of CPU time; nil when it was never read before.
func (r *rates) nanoCores(name string, at time.Time, nanos uint64) *uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := sample{at, nanos}
	known, found := r.of[name]
	switch {
	case !found || nanos < known.newer.value: // a new life of the same name
		r.forget(at)
		r.of[name] = rate{older: now, newer: now}
		return nil
	case at.Sub(known.newer.at) >= rateSpan:
		known = rate{older: known.newer, newer: now}
	}
	r.of[name] = known
	passed := at.Sub(known.older.at)
	if passed <= 0 {
		return nil
	}
	return new(uint64(float64(nanos-known.older.value) / passed.Seconds()))
}

// forget drops what nobody has asked for. Called with mu held.
func (r *rates) forget(now time.Time) {
	for name, known := range r.of {
		if now.Sub(known.newer.at) > rateForgotten {
			delete(r.of, name)
		}
	}
}
