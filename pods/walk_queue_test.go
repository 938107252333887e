package pods

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"sync"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/worker"
)

// walkQueue is the one queue of all that happens on a node and its API server: what goroutines deliver and begin waits here, and
// leaves in an order that follows from a seed. Nothing happens at the same time: between two of them time passes, and whatever
// takes time begins alone and so ends at a time of its own.
type walkQueue struct {
	order *rand.Rand // nil: first come, first served
	pause *rand.Rand // nanoseconds between two of them

	mu      sync.Mutex
	waiting []*queued // those that came at the same time are in no order
	came    int       // how many there were
	arrived chan struct{}
	stalled map[types.UID]time.Time // until when nothing of a pod happens
	taken   []taken
}

// queued is something that waits in the queue.
type queued struct {
	of      types.UID
	what    any
	in      bool // comes after what came to the same before it
	began   int  // when it came: how many had left before
	do      func()
	subject string
}

// taken is something that has left the queue.
type taken struct {
	at      time.Time
	subject string
	what    any
}

func (t taken) String() string { return t.at.Format("05.000000000") + " " + t.subject }

// newWalkQueue makes a queue. Seed 0 has nothing overtake anything.
func newWalkQueue(seed uint64) *walkQueue {
	q := &walkQueue{arrived: make(chan struct{}, 1), stalled: map[types.UID]time.Time{}, pause: rand.New(rand.NewPCG(1, seed))}
	if seed != 0 {
		q.order = rand.New(rand.NewPCG(2, seed))
	}
	return q
}

// Deliver is worker.Order's. Each answer to an effect comes from a goroutine of its own, in no order.
func (q *walkQueue) Deliver(of types.UID, fact any, do func()) {
	if answer := reflect.ValueOf(fact); answer.Kind() == reflect.Struct && answer.FieldByName("Result").IsValid() {
		q.add(queued{of: of, what: fact, do: do}, answer.FieldByName("Result").Interface().(lifecycle.Result).ID)
		return
	}
	q.add(queued{of: of, what: fact, in: true, do: do}, 0)
}

// Begin is worker.Order's.
func (q *walkQueue) Begin(of types.UID, what any, do func()) {
	var id lifecycle.EffectID
	if effect, is := what.(lifecycle.Effect); is {
		id = effect.EffectID()
	}
	q.add(queued{of: of, what: what, do: do}, id)
}

func (q *walkQueue) add(t queued, id lifecycle.EffectID) {
	t.subject = fmt.Sprintf("%s %T %d", cmp.Or(t.of, "node"), t.what, id)
	q.mu.Lock()
	t.began = q.came
	q.waiting = append(q.waiting, &t)
	q.mu.Unlock()
	select {
	case q.arrived <- struct{}{}:
	default:
	}
}

// lead empties the queue until there is nothing left to do before until, and calls after each.
func (q *walkQueue) lead(until time.Time, after func() bool) {
	for {
		synctest.Wait()
		if !after() {
			return
		}
		if next := q.next(); next != nil {
			time.Sleep(time.Duration(500+q.pause.IntN(1000)) * time.Nanosecond)
			next.do()
			continue
		}
		rest := time.Until(until)
		if rest <= 0 {
			return
		}
		select {
		case <-q.arrived:
		case <-time.After(q.within(rest)):
		}
	}
}

// next takes off whose turn it is; nil: nothing waits, or is stalled.
func (q *walkQueue) next() *queued {
	q.mu.Lock()
	defer q.mu.Unlock()
	var first []*queued // of what can be next: the first that was delivered to each, and all that can begin
	delivered := map[types.UID]bool{}
	for _, t := range q.waiting {
		if t.in && delivered[t.of] || time.Now().Before(q.stalled[t.of]) {
			continue
		}
		delivered[t.of] = delivered[t.of] || t.in
		first = append(first, t)
	}
	if len(first) == 0 {
		return nil
	}
	slices.SortStableFunc(first, func(a, b *queued) int {
		return cmp.Or(cmp.Compare(a.began, b.began), cmp.Compare(a.subject, b.subject))
	})
	next := first[0]
	if q.order != nil {
		next = first[q.order.IntN(len(first))]
	}
	q.waiting = slices.DeleteFunc(q.waiting, func(t *queued) bool { return t == next })
	q.came++
	q.taken = append(q.taken, taken{time.Now(), next.subject, next.what})
	return next
}

// stall has nothing of a pod happen for a while, as if its goroutines had no processor.
func (q *walkQueue) stall(of types.UID, d time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.stalled[of] = time.Now().Add(d)
}

// within is d, or less if a stall ends before.
func (q *walkQueue) within(d time.Duration) time.Duration {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, until := range q.stalled {
		if rest := time.Until(until); rest > 0 {
			d = min(d, rest)
		}
	}
	return d
}

// drain lets all that waits have its turn at once, again and again until over is closed: nothing comes of it any more.
func (q *walkQueue) drain(over <-chan struct{}) {
	for {
		synctest.Wait()
		select {
		case <-over:
			q.mu.Lock()
			defer q.mu.Unlock()
			q.waiting = nil
			return
		default:
		}
		q.mu.Lock()
		waiting := q.waiting
		q.waiting = nil
		q.mu.Unlock()
		for _, t := range waiting {
			t.do()
		}
		if len(waiting) == 0 {
			select {
			case <-over:
			case <-q.arrived:
			case <-time.After(time.Millisecond):
			}
		}
	}
}

// late is the time of the bubble, in which machines wake a little later than what ends at the same time: a call's deadline and the
// pod's are the same.
type late struct{}

const lateBy = 7 * time.Nanosecond

func (late) Now() time.Time { return time.Now() }
func (late) Busy(int)       {}

func (late) AfterFunc(d time.Duration, f func()) worker.Timer {
	return lateTimer{time.AfterFunc(d+lateBy, f)}
}

type lateTimer struct{ *time.Timer }

func (t lateTimer) Reset(d time.Duration) bool { return t.Timer.Reset(d + lateBy) }
