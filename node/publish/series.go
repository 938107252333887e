package publish

import (
	"slices"
	"time"

	"golang.org/x/time/rate"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// series are equal events: one object in the API, with a count.
type series struct {
	name  string      // of the API's object
	first metav1.Time // when it began
	count int32       // of all
	// event is the newest; never changed, only replaced. nil: it is sent, and needed no longer. Most series have one event, and there
	// are several for each pod.
	event     *v1.Event
	created   bool  // the API has an object of it
	waiting   bool  // it has something to send
	busy      bool  // it is being sent
	sent      int32 // the count that the API has
	tries     int   // failures in a row
	pace      *rate.Limiter
	notBefore time.Time
}

// The first repeatBurst of a series are sent at once, then one per repeatEvery.
const (
	repeatBurst = 25
	repeatEvery = 5 * time.Minute
)

func newSeries(event *v1.Event) *series {
	return &series{name: event.Name, first: event.FirstTimestamp, count: event.Count, event: event, pace: rate.NewLimiter(rate.Every(repeatEvery), repeatBurst)}
}

// again counts one more of the series.
func (s *series) again(event *v1.Event) {
	s.count++
	event.Name, event.FirstTimestamp, event.Count = s.name, s.first, s.count
	s.event = event
}

// due is when the series may be reported again.
func (s *series) due(now time.Time) time.Time {
	return now.Add(s.pace.ReserveN(now, 1).DelayFrom(now))
}

// makeRoom gives one of those up that wait: one whose first occurrence the API
// has, whose count is told with the next one; else the oldest normal event, else
// the oldest of all. Called with mu held.
func (r *Recorder) makeRoom() {
	i := slices.IndexFunc(r.waiting, func(s *series) bool { return s.created })
	if i < 0 {
		r.lost++
		i = max(0, slices.IndexFunc(r.waiting, func(s *series) bool { return s.event.Type == v1.EventTypeNormal }))
	}
	r.waiting[i].waiting = false
	r.waiting = slices.Delete(r.waiting, i, i+1)
}
