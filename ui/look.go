package ui

import (
	"bytes"
	"context"
	"encoding/json"
	"sync"
	"time"
)

// looker looks at something again and again while anybody watches, once for all who do.
type looker struct {
	look func(context.Context) any

	mu       sync.Mutex
	watchers map[chan []byte]bool
	last     []byte
	stop     context.CancelFunc // of the goroutine that looks; nil: there is none
}

const (
	// lookEvery is the time between two looks.
	lookEvery = time.Second
	// lookShare is how many times longer than a look took it rests at least.
	lookShare = 4
)

func newLooker(look func(context.Context) any) *looker {
	return &looker{look: look, watchers: map[chan []byte]bool{}}
}

// watch gives what is seen, as JSON, now and when it has changed; who is slow gets the newest only.
// end ends it.
func (l *looker) watch() (seen <-chan []byte, end func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := make(chan []byte, 1)
	l.watchers[c] = true
	if l.last != nil {
		c <- l.last
	}
	if l.stop == nil {
		ctx, stop := context.WithCancel(context.Background())
		l.stop = stop
		go l.run(ctx)
	}
	return c, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.watchers, c)
		if len(l.watchers) == 0 && l.stop != nil {
			l.stop()
			l.stop, l.last = nil, nil
		}
	}
}

func (l *looker) run(ctx context.Context) {
	for ctx.Err() == nil {
		began := time.Now()
		text, err := json.Marshal(l.look(ctx))
		if err != nil {
			panic(err) // our own types can be written
		}
		l.tell(ctx, text)
		pause(ctx, time.Since(began))
	}
}

// pause waits before the next look, the longer the longer one takes.
func pause(ctx context.Context, took time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(max(lookEvery, lookShare*took)):
	}
}

// tell gives the watchers what they have not seen.
func (l *looker) tell(ctx context.Context, text []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if ctx.Err() != nil || bytes.Equal(text, l.last) {
		return
	}
	l.last = text
	for c := range l.watchers {
		select {
		case <-c: // nobody has taken it yet
		default:
		}
		c <- text
	}
}
