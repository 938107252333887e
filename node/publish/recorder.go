package publish

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/time/rate"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	clientrecord "k8s.io/client-go/tools/record"
	"k8s.io/client-go/tools/record/util"
	"k8s.io/utils/clock"
	"k8s.io/utils/lru"

	"github.com/lifepod/lifepod/internal/mailbox"
)

const (
	remembered   = 4096 // series that are counted
	similarMost  = 10   // texts of the same kind …
	similarWithN = 600  // … within so many seconds are combined
	waitMost     = 1000 // series that wait to be sent
	waitLongest  = time.Hour
	inFlight     = 4
	lostEvery    = time.Minute // is logged how many were lost
)

// RecorderConfig is what a Recorder needs. Client must not limit the rate of requests by
// itself (QPS -1).
type RecorderConfig struct {
	Client kubernetes.Interface
	Log    *slog.Logger
	Node   string
	// QPS and Burst are KubeletConfiguration's eventRecordQPS and eventBurst; a
	// QPS of 0 is no limit.
	QPS, Burst int
	// Delay is how long a normal event waits before it is sent: what makes a pod
	// ready, and its status, need the same cores and the same API server.
	Delay time.Duration
	// Again is how long an event that the API has already waits for equal ones, which are then counted with it.
	Again time.Duration
	// Slots has room for so many requests at the same time of all Recorders that share it, as of many nodes in one
	// process; nil: there is no such bound.
	Slots chan struct{}
	// Busy says that the API server is asked for what is more urgent, such as statuses of the pods of many nodes in one
	// process: then normal events wait, half a minute at most. nil: nothing is.
	Busy func() bool
}

// Recorder writes events. Record may be called from any goroutine and does not
// block.
type Recorder struct {
	RecorderConfig // immutable
	rate           *rate.Limiter
	wake           mailbox.Signal // sent when there may be something to send

	mu      sync.Mutex
	similar *clientrecord.EventAggregator
	series  *lru.Cache // of *series, by kind and text
	waiting []*series  // those with something to tell, in order
	busy    int        // requests under way
	ending  bool       // what waits is reported at once
	lost    int        // dropped and not logged yet
	// lostLogged is when it may be logged again: of thousands of pods that begin events are lost all the time.
	lostLogged time.Time
	nano       int64 // in the name of the newest event
	outage
}

// outage is that the API server does not answer: one request at a time tries. It is not podstatus' reach,
// which asks more often, since pods wait for it, and tells requests that hang from a server that is away.
type outage struct {
	away  bool
	until time.Time
	pause wait.Backoff
}

// NewRecorder prepares a Recorder; events are written while Run runs.
func NewRecorder(c RecorderConfig) *Recorder {
	limit := rate.Limit(c.QPS)
	if c.QPS <= 0 {
		limit = rate.Inf
	}
	return &Recorder{
		RecorderConfig: c, rate: rate.NewLimiter(limit, max(c.Burst, 1)), wake: mailbox.NewSignal(),
		similar: clientrecord.NewEventAggregator(remembered, similar, combined, similarMost, similarWithN, clock.RealClock{}),
		series:  lru.New(remembered),
	}
}

// Record tells an event soon.
func (r *Recorder) Record(e Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.nano = max(r.nano+1, e.At.UnixNano()) // several happen at the same time
	event, key := r.similar.EventAggregate(e.object(r.Node))
	event.Name = util.GenerateEventName(e.Object.Name, r.nano)
	event.ReportingController, event.ReportingInstance = component, r.Node
	if found, ok := r.series.Get(key); ok {
		s := found.(*series)
		s.again(event)
		r.queue(s)
		return
	}
	s := newSeries(event)
	r.series.Add(key, s)
	r.queue(s)
}

// queue lets a series wait for being reported. Called with mu held.
func (r *Recorder) queue(s *series) {
	if s.waiting || s.busy {
		return
	}
	r.wait(s)
	s.notBefore = r.soonest(s, time.Now())
	r.wake.Send()
}

// wait files that a series waits. Called with mu held.
func (r *Recorder) wait(s *series) {
	if len(r.waiting) >= waitMost {
		r.makeRoom()
	}
	s.waiting = true
	r.waiting = append(r.waiting, s)
}

// soonest is when a series may be reported, whatever else there is.
func (r *Recorder) soonest(s *series, now time.Time) time.Time {
	at := s.due(now)
	wait := time.Duration(0)
	switch {
	case s.created:
		wait = r.Again
	case s.event.Type == v1.EventTypeNormal:
		wait = r.Delay
	}
	if at.Before(now.Add(wait)) {
		return now.Add(wait)
	}
	return at
}

// flushLongest is how long sending what waits may take when Run is to end.
const flushLongest = 2 * time.Second

// Run writes until ctx ends, and then what waits, for a moment: unless the API
// server is away. What it does not take by then is lost.
func (r *Recorder) Run(ctx context.Context) {
	var requests sync.WaitGroup
	defer requests.Wait()
	writing, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	r.write(ctx, writing, &requests)
	limit := time.AfterFunc(flushLongest, cut)
	defer limit.Stop()
	r.flush(writing, &requests)
}

// write tells what is due until ctx ends.
func (r *Recorder) write(ctx, writing context.Context, requests *sync.WaitGroup) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.wake:
		case <-timer.C:
		}
		due, next := r.due(time.Now())
		for i, t := range due {
			if !r.take(ctx) {
				r.putBack(due[i:])
				return
			}
			requests.Go(func() { r.send(writing, t) })
		}
		timer.Stop()
		if !next.IsZero() {
			timer.Reset(time.Until(next))
		}
	}
}

// take waits until there is room for a request, which send gives back; false: ctx has ended. It waits here, and not beside: of thousands
// of nodes each would have goroutines that do.
func (r *Recorder) take(ctx context.Context) bool {
	if r.Slots == nil {
		return true
	}
	select {
	case r.Slots <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

// putBack has what was due wait again.
func (r *Recorder) putBack(due []eventRequest) {
	r.mu.Lock()
	defer r.mu.Unlock()
	again := make([]*series, 0, len(due)+len(r.waiting))
	for _, t := range due {
		t.series.waiting, t.series.busy = true, false
		r.busy--
		again = append(again, t.series)
	}
	r.waiting = append(again, r.waiting...)
}

// flush tells all that waits, paced by the answers only, until nothing does, the
// API server does not answer, or writing ends.
func (r *Recorder) flush(writing context.Context, requests *sync.WaitGroup) {
	r.mu.Lock()
	r.ending = true
	r.mu.Unlock()
	for {
		due, _ := r.due(time.Now())
		for _, t := range due {
			if !r.take(writing) {
				return
			}
			requests.Go(func() { r.send(writing, t) })
		}
		if r.idle() {
			return
		}
		select {
		case <-writing.Done():
			return
		case <-r.wake:
		}
	}
}

// idle says that no answer is awaited that is worth it.
func (r *Recorder) idle() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.busy == 0 || r.away
}

// due takes what can be told now; next is when something of the rest can be,
// zero if that takes a wake.
func (r *Recorder) due(now time.Time) (due []eventRequest, next time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.away && r.until.After(now) {
		return nil, r.until
	}
	rest := r.waiting[:0]
	for _, s := range r.waiting {
		if r.busy >= inFlight || r.away && r.busy > 0 {
			rest = append(rest, s) // the end of a request wakes
			continue
		}
		if at := r.notBefore(s, now); at.After(now) {
			rest = append(rest, s)
			if next.IsZero() || at.Before(next) {
				next = at
			}
			continue
		}
		s.waiting, s.busy = false, true
		r.busy++
		due = append(due, eventRequest{s, s.event, s.created})
	}
	clear(r.waiting[len(rest):])
	r.waiting = rest
	return due, next
}
