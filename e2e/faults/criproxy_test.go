package faults

import (
	"bytes"
	"context"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/lifepod/lifepod/e2e/relay"
	"github.com/lifepod/lifepod/internal/assert"
)

// fault is what happens to calls of a runtime.
type fault struct {
	methods string  // names between spaces; empty: all
	about   string  // text that the request has, such as a pod's UID; empty: any
	chance  float64 // that it happens to one call
	kind    faultKind
	delay   time.Duration // of late
}

type faultKind int

const (
	late        faultKind = iota // it is carried out after a while
	hung                         // it is carried out when the faults end
	unavailable                  // it is not carried out
	lost                         // it is carried out, and nobody hears of it
)

// criProxy stands between an agent and its runtime, and does to calls what its
// faults say.
type criProxy struct {
	*relay.Relay

	mu     sync.Mutex
	lots   *rand.Rand
	faults []fault
	whole  chan struct{} // closed when the faults end
	done   map[faultKind]int
}

// newCRIProxy listens before a runtime, until the end of the test.
func newCRIProxy(t *testing.T, endpoint string) *criProxy {
	t.Helper()
	p := &criProxy{lots: rand.New(rand.NewPCG(*seed, 5)), whole: make(chan struct{}), done: map[faultKind]int{}}
	p.Relay = assert.Get(relay.Listen(endpoint, p.handle)).Must(t)
	t.Cleanup(func() {
		p.end()
		assert.NoError(t, p.Close())
	})
	return p
}

// begin has faults happen from now on.
func (p *criProxy) begin(faults ...fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults, p.whole = faults, make(chan struct{})
}

// end ends all faults, and lets go on what hangs.
func (p *criProxy) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults = nil
	select {
	case <-p.whole:
	default:
		close(p.whole)
	}
}

// draw is what happens to one call; nil: nothing.
func (p *criProxy) draw(method string, request []byte) (*fault, <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, f := range p.faults {
		named := f.methods == "" || strings.Contains(" "+f.methods+" ", " "+method+" ")
		if named && bytes.Contains(request, []byte(f.about)) && p.lots.Float64() < f.chance {
			p.done[f.kind]++
			return &p.faults[i], p.whole
		}
	}
	return nil, p.whole
}

// handle carries one call.
func (p *criProxy) handle(ctx context.Context, call relay.Call) error {
	f, whole := p.draw(call.Method, call.Request)
	if f == nil {
		return call.Carry(ctx)
	}
	switch f.kind {
	case late:
		whole = nil // only time ends it
		fallthrough
	case hung:
		if err := hold(ctx, f, whole); err != nil {
			return err
		}
	case unavailable:
		return status.Error(codes.Unavailable, "connection error: a fault of the test")
	case lost:
		_ = call.CarryMute(ctx) // what the runtime has begun it ends
		return status.Error(codes.Unavailable, "transport is closing: a fault of the test")
	}
	return call.Carry(ctx)
}

// hold holds a call up.
func hold(ctx context.Context, f *fault, whole <-chan struct{}) error {
	var over <-chan time.Time
	if f.kind == late {
		over = time.After(f.delay)
	}
	select {
	case <-over:
	case <-whole:
	case <-ctx.Done():
		return status.FromContextError(ctx.Err()).Err()
	}
	return nil
}
