package lead

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	k8stesting "k8s.io/client-go/testing"

	"github.com/lifepod/lifepod/internal/assert"
)

// server counts how many lead.
type server struct {
	config Config
	leads  atomic.Int32
	terms  atomic.Int32
}

func newServer(client kubernetes.Interface, name string) *server {
	return &server{config: Config{Client: client, Identity: name, Log: slog.New(slog.DiscardHandler)}}
}

func (s *server) led(ctx context.Context) {
	s.leads.Add(1)
	s.terms.Add(1)
	<-ctx.Done()
	s.leads.Add(-1)
}

// begin starts it; end stops it and waits.
func (s *server) begin(t *testing.T) (end func()) {
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- Run(ctx, s.config, s.led) }()
	return func() {
		cancel()
		assert.NoError(t, <-ended)
	}
}

// away has the API server answer nobody any more, until it is called.
func away(client *fake.Clientset) (back func()) {
	var off atomic.Bool
	client.PrependReactor("*", "leases", func(k8stesting.Action) (bool, runtime.Object, error) {
		return !off.Load(), nil, errors.New("away")
	})
	return func() { off.Store(true) }
}

func TestOneLeads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		a, b := newServer(client, "a"), newServer(client, "b")
		endA := a.begin(t)
		synctest.Wait()
		endB := b.begin(t)
		time.Sleep(2 * DefaultLease) // of the bubble's clock
		if got := [2]int32{a.leads.Load(), b.leads.Load()}; got != [2]int32{1, 0} {
			t.Fatalf("leaders %v, want the first only", got)
		}
		endA() // gives the lease up
		time.Sleep(DefaultLease / 2)
		got := [2]int32{a.leads.Load(), b.leads.Load()}
		assert.True(t, got == [2]int32{0, 1}, "leaders %v after the first has ended, want the second, before the lease is over", got)
		endB()
	})
}

// A leader that can't renew its lease ends, and stands for election again.
func TestLostAndWonAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		a := newServer(client, "a")
		end := a.begin(t)
		time.Sleep(time.Second)
		back := away(client)
		time.Sleep(DefaultLease)
		assert.True(t, a.leads.Load() == 0, "leads without the lease")
		back()
		time.Sleep(DefaultLease)
		leads, terms := a.leads.Load(), a.terms.Load()
		assert.True(t, leads == 1 && terms == 2, "leads %d times at once, %d terms, want 1 in the second term", leads, terms)
		end()
	})
}

// What does not end when the leadership does ends the process.
func TestStuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		a := newServer(client, "a")
		release := make(chan struct{})
		ended := make(chan error, 1)
		go func() { ended <- Run(t.Context(), a.config, func(context.Context) { <-release }) }()
		time.Sleep(time.Second)
		away(client)
		assert.ErrorIs(t, errStuck, <-ended)
		close(release)
	})
}
