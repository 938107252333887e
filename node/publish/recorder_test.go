package publish

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/lifepod/lifepod/internal/assert"
)

var eventResource = schema.GroupResource{Resource: "events"}

// recordFakeAPI has events, as a client's transport. fail decides what happens to a
// request in place of what should.
type recordFakeAPI struct {
	mu       sync.Mutex
	events   map[string]*v1.Event
	requests []string
	fail     func(verb string) error
	lose     bool
	silent   bool // nothing is answered
}

func (a *recordFakeAPI) set(fail func(verb string) error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.fail = fail
}

// loseAnswers lets requests be carried out, but not answered.
func (a *recordFakeAPI) loseAnswers(lose bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.lose = lose
}

func (a *recordFakeAPI) count() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.requests)
}

// RoundTrip implements http.RoundTripper.
func (a *recordFakeAPI) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	if a.silent {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.requests = append(a.requests, r.Method)
	if a.fail != nil {
		err = a.fail(r.Method)
	}
	var event *v1.Event
	if err == nil {
		event, err = a.handle(r, body)
	}
	if a.lose {
		return nil, io.ErrUnexpectedEOF
	}
	return reply(event, err)
}

func (a *recordFakeAPI) handle(r *http.Request, body []byte) (*v1.Event, error) {
	event := &v1.Event{}
	if err := json.Unmarshal(body, event); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	if r.Method == http.MethodPost {
		if a.events[event.Name] != nil {
			return nil, apierrors.NewAlreadyExists(eventResource, event.Name)
		}
		a.events[event.Name] = event
		return event, nil
	}
	name := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
	have := a.events[name]
	if have == nil {
		return nil, apierrors.NewNotFound(eventResource, name)
	}
	have.Count, have.LastTimestamp, have.Message = event.Count, event.LastTimestamp, event.Message
	return have, nil
}

// all are the events as "count×reason message", for counting by.
func (a *recordFakeAPI) all() map[string]int32 {
	a.mu.Lock()
	defer a.mu.Unlock()
	got := map[string]int32{}
	for _, e := range a.events {
		got[e.Reason+" "+e.Message] += e.Count
	}
	return got
}

type recordSetup struct {
	*Recorder
	api *recordFakeAPI
	log *bytes.Buffer
	run sync.WaitGroup
	end context.CancelFunc
}

func recordBubble(t *testing.T, config RecorderConfig, test func(t *testing.T, s *recordSetup)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &recordSetup{api: &recordFakeAPI{events: map[string]*v1.Event{}}, log: &bytes.Buffer{}}
		config.Client = clientOver(t, s.api)
		config.Log, config.Node = slog.New(slog.NewTextHandler(s.log, nil)), "node-1"
		s.Recorder = NewRecorder(config)
		ctx, cancel := context.WithCancel(t.Context())
		s.end = cancel
		s.run.Go(func() { s.Run(ctx) })
		defer s.run.Wait()
		defer cancel()
		test(t, s)
	})
}

func testPod(name string) *v1.Pod {
	return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: "uid", ResourceVersion: "7"}}
}

// happen tells of a container's event now.
func (s *recordSetup) happen(kind, reason, message string) {
	s.Record(Event{Object: PodReference(testPod("web"), "spec.containers{main}"), Type: kind, Reason: reason, Message: message, At: time.Now()})
}

// TestObject: what users' tools find an event by (A-EVT-1).
func TestObject(t *testing.T) {
	recordBubble(t, RecorderConfig{}, func(t *testing.T, s *recordSetup) {
		at := time.Now()
		s.happen("Normal", "Started", "Container started")
		s.Record(Event{Object: NodeReference("node-1", "node-uid"), Type: "Warning", Reason: "Rebooted", Message: "It has", At: at})
		synctest.Wait()
		time := metav1.NewTime(at.Truncate(time.Second).Local())
		want := map[string]*v1.Event{}
		for i, e := range []*v1.Event{{
			InvolvedObject: v1.ObjectReference{Kind: "Pod", APIVersion: "v1", Namespace: "default", Name: "web", UID: "uid", ResourceVersion: "7", FieldPath: "spec.containers{main}"},
			Type:           "Normal", Reason: "Started", Message: "Container started",
		}, {
			InvolvedObject: v1.ObjectReference{Kind: "Node", APIVersion: "v1", Name: "node-1", UID: "node-uid"},
			Type:           "Warning", Reason: "Rebooted", Message: "It has",
		}} {
			e.Namespace, e.Name = "default", fmt.Sprintf("%s.%x", e.InvolvedObject.Name, at.UnixNano()+int64(i))
			e.Kind, e.APIVersion = "Event", "v1"
			e.FirstTimestamp, e.LastTimestamp, e.Count = time, time, 1
			e.Source = v1.EventSource{Component: "kubelet", Host: "node-1"}
			e.ReportingController, e.ReportingInstance = "kubelet", "node-1"
			want[e.Name] = e
		}
		assert.Deep(t, "events", want, s.api.events)
	})
}

// TestSentIsForgotten: of an event that is reported only what counts equal ones is kept.
func TestSentIsForgotten(t *testing.T) {
	recordBubble(t, RecorderConfig{}, func(t *testing.T, s *recordSetup) {
		s.api.set(func(string) error { return errRefusedConnection })
		s.happen("Normal", "Started", "Container started")
		after(time.Second)
		s.mu.Lock()
		kept := s.waiting[0]
		s.mu.Unlock()
		s.api.set(nil)
		for count := int32(1); count <= 2; count++ {
			after(time.Minute)
			s.mu.Lock()
			assert.True(t, kept.event == nil && kept.sent == count, "told %d times, want %d; the event is kept: %t", kept.sent, count, kept.event != nil)
			s.mu.Unlock()
			s.happen("Normal", "Started", "Container started")
		}
		after(time.Minute)
		assert.Deep(t, "told", map[string]int32{"Started Container started": 3}, s.api.all())
	})
}

// TestCounted: equal events are one object with a count, which is reported more
// rarely when there are many, and never lost.
func TestCounted(t *testing.T) {
	recordBubble(t, RecorderConfig{}, func(t *testing.T, s *recordSetup) {
		for range 600 {
			s.happen("Warning", "Unhealthy", "Readiness probe failed: no")
			s.happen("Normal", "Killing", "Stopping container main")
			after(time.Second)
		}
		n := s.api.count()
		assert.True(t, n >= 50 && n <= 56, "%d requests", n)
		after(6 * time.Minute)
		assert.Deep(t, "events", map[string]int32{"Unhealthy Readiness probe failed: no": 600, "Killing Stopping container main": 600}, s.api.all())
	})
}

// TestCombined: many texts of one kind become one event, without taking others of
// the pod with them.
func TestCombined(t *testing.T) {
	recordBubble(t, RecorderConfig{}, func(t *testing.T, s *recordSetup) {
		for i := range 100 {
			s.happen("Warning", "Unhealthy", fmt.Sprintf("Liveness probe failed: %d", i))
			after(time.Second)
		}
		s.happen("Normal", "Killing", "Container main failed liveness probe, will be restarted")
		after(time.Hour)
		got := s.api.all()
		if n := len(got); n != 11 { // nine of their own, the combined, Killing
			t.Errorf("%d events: %v", n, got)
		}
		n := got["Unhealthy (combined from similar events): Liveness probe failed: 99"]
		assert.True(t, n == 91, "%d are combined: %v", n, got)
		assert.True(t, got["Killing Container main failed liveness probe, will be restarted"] == 1, "Killing is lost: %v", got)
	})
}

// TestDelay: a normal event lets statuses go first, a warning does not; at the node's
// end neither waits.
func TestDelay(t *testing.T) {
	recordBubble(t, RecorderConfig{Delay: time.Second}, func(t *testing.T, s *recordSetup) {
		tell := func(want map[string]int32) {
			t.Helper()
			assert.Deep(t, "events", want, s.api.all())
		}
		s.happen("Normal", "Started", "")
		s.happen("Warning", "BackOff", "")
		after(time.Second / 2)
		s.happen("Normal", "Started", "")
		tell(map[string]int32{"BackOff ": 1})
		after(time.Second / 2)
		tell(map[string]int32{"BackOff ": 1, "Started ": 2})
		s.happen("Normal", "Killing", "")
		s.end()
		synctest.Wait()
		tell(map[string]int32{"BackOff ": 1, "Started ": 2, "Killing ": 1})
	})
}

// TestGivesWay: normal events wait while somebody is busy with what is more urgent, and half a minute at most; warnings don't.
func TestGivesWay(t *testing.T) {
	var busy atomic.Bool
	busy.Store(true)
	recordBubble(t, RecorderConfig{Busy: busy.Load}, func(t *testing.T, s *recordSetup) {
		s.happen("Normal", "Started", "first")
		s.happen("Warning", "Failed", "it has")
		after(29 * time.Second)
		assert.Deep(t, "events while somebody is busy", map[string]int32{"Failed it has": 1}, s.api.all())
		after(2 * time.Second)
		assert.True(t, s.api.all()["Started first"] == 1, "an event waits for more than half a minute")
		s.happen("Normal", "Started", "second")
		after(time.Second)
		busy.Store(false)
		after(time.Second)
		assert.True(t, s.api.all()["Started second"] == 1, "an event waits for nobody")
	})
}

// TestAgain: an event that the API has already waits for equal ones, and is reported once with them, be it normal or a
// warning; the first one of a kind does not, and at the node's end none waits (A-EVT-7).
func TestAgain(t *testing.T) {
	recordBubble(t, RecorderConfig{Again: 10 * time.Second}, func(t *testing.T, s *recordSetup) {
		restart := func() {
			s.happen("Normal", "Started", "Container started")
			s.happen("Warning", "BackOff", "Back-off")
		}
		tell := func(count int32, requests int) {
			t.Helper()
			assert.Deep(t, "events", map[string]int32{"Started Container started": count, "BackOff Back-off": count}, s.api.all())
			assert.Equal(t, requests, s.api.count(), "requests")
		}
		restart()
		synctest.Wait()
		tell(1, 2)
		for range 5 {
			after(time.Second)
			restart()
		}
		tell(1, 2)
		after(6 * time.Second)
		tell(6, 4)
		restart()
		s.end()
		synctest.Wait()
		tell(7, 6)
	})
}

// TestRate: no more than eventBurst at once and eventRecordQPS a second; none of a
// burst of pods is lost.
func TestRate(t *testing.T) {
	recordBubble(t, RecorderConfig{QPS: 50, Burst: 100}, func(t *testing.T, s *recordSetup) {
		for i := range 100 {
			for _, reason := range []string{"Pulled", "Created", "Started"} {
				s.Record(Event{Object: PodReference(testPod(fmt.Sprint("web-", i)), "spec.containers{main}"), Type: "Normal", Reason: reason, At: time.Now()})
			}
		}
		synctest.Wait()
		n := s.api.count()
		assert.True(t, n == 100, "%d at once", n)
		after(2 * time.Second)
		n = s.api.count()
		assert.True(t, n >= 198 && n <= 200, "%d after two seconds", n)
		after(3 * time.Second)
		assert.Deep(t, "events", (map[string]int32{"Pulled ": 100, "Created ": 100, "Started ": 100}), s.api.all())
	})
}

// TestLostOfMany: when many pods begin more events wait than there is room for; that is logged now and then, with the count of all.
func TestLostOfMany(t *testing.T) {
	recordBubble(t, RecorderConfig{QPS: 10, Burst: 10}, func(t *testing.T, s *recordSetup) {
		const pods = 3000
		for i := range pods {
			s.Record(Event{Object: PodReference(testPod(fmt.Sprint("web-", i)), ""), Type: "Normal", Reason: "Pulled", At: time.Now()})
			if i%10 == 0 {
				after(100 * time.Millisecond)
			}
		}
		after(5 * time.Minute)
		lines, lost := 0, 0
		for line := range strings.Lines(s.log.String()) {
			_, count, found := strings.Cut(strings.TrimSpace(line), "lost=")
			n, err := strconv.Atoi(count)
			assert.Require(t, found && err == nil, "logged: %s", line)
			lines, lost = lines+1, lost+n
		}
		sent := int(s.api.all()["Pulled "])
		assert.True(t, lines != 0 && lines <= 3 && lost != 0 && lost+sent == pods, "%d lines of %d lost events, %d told of %d", lines, lost, sent, pods)
	})
}

// TestRecordOutage: events wait for the API server within a bound, the repeated ones
// counted together; those for which there is no room are counted in the log.
func TestRecordOutage(t *testing.T) {
	recordBubble(t, RecorderConfig{QPS: 50, Burst: 100}, func(t *testing.T, s *recordSetup) {
		s.api.set(func(string) error { return errRefusedConnection })
		for i := range 3000 {
			s.happen("Warning", "BackOff", "Back-off restarting failed container")
			s.Record(Event{Object: PodReference(testPod(fmt.Sprint("web-", i)), ""), Type: "Normal", Reason: "Pulled", At: time.Now()})
			if i%1000 == 0 {
				s.Record(Event{Object: PodReference(testPod(fmt.Sprint("web-", i)), ""), Type: "Warning", Reason: "Failed", At: time.Now()})
			}
			after(time.Second / 2)
		}
		n := s.api.count()
		assert.True(t, n <= 400 && n >= 100, "%d requests in 25 minutes", n)
		s.api.set(nil)
		after(time.Minute)
		got := s.api.all()
		assert.True(t, got["BackOff Back-off restarting failed container"] == 3000 && got["Failed "] == 3 && got["Pulled "] == waitMost-4, "events %v", got)
		assert.True(t, strings.Count(s.log.String(), "\n") == 1 && strings.Contains(s.log.String(), "lost=2004"), "log:\n%s", s.log)
	})
}

// TestTooOld: after an hour nobody wants to know any more.
func TestTooOld(t *testing.T) {
	recordBubble(t, RecorderConfig{}, func(t *testing.T, s *recordSetup) {
		s.api.set(func(string) error { return errRefusedConnection })
		s.happen("Normal", "Started", "")
		after(2 * time.Hour)
		s.api.set(nil)
		s.happen("Normal", "Killing", "")
		after(time.Minute)
		assert.Deep(t, "events", (map[string]int32{"Killing ": 1}), s.api.all())
	})
}

// TestRefused: what the API server does not take is not reported again for ever, and
// holds nothing up; a namespace that is going is no news.
func TestRefused(t *testing.T) {
	terminating := apierrors.NewForbidden(eventResource, "", errors.New("the namespace is being terminated"))
	terminating.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: v1.NamespaceTerminatingCause}}
	for name, c := range map[string]struct {
		err   error
		tries int
	}{
		"namespace": {terminating, 1},
		"invalid":   {apierrors.NewInvalid(schema.GroupKind{Kind: "Event"}, "", nil), 1},
		"denied":    {apierrors.NewForbidden(eventResource, "", errors.New("RBAC: not known yet")), 13},
		"internal":  {apierrors.NewInternalError(errors.New("no leader")), 13},
		"too many":  {apierrors.NewTooManyRequestsError("later"), 13},
	} {
		t.Run(name, func(t *testing.T) {
			recordBubble(t, RecorderConfig{}, func(t *testing.T, s *recordSetup) {
				s.api.set(func(string) error { return c.err })
				s.happen("Normal", "Started", "")
				after(30 * time.Minute)
				n := s.api.count()
				assert.True(t, n == c.tries, "%d requests, want %d", n, c.tries)
				assert.True(t, s.log.Len() <= 0, "log:\n%s", s.log)
				s.api.set(nil)
				s.happen("Normal", "Killing", "")
				s.happen("Normal", "Started", "")
				synctest.Wait()
				assert.Deep(t, "events", (map[string]int32{"Killing ": 1, "Started ": 2}), s.api.all())
			})
		})
	}
}

// TestRecordLostAnswer: an event whose answer was lost is not made twice; one that the
// API server has dropped since is made anew with the count of all.
func TestRecordLostAnswer(t *testing.T) {
	recordBubble(t, RecorderConfig{}, func(t *testing.T, s *recordSetup) {
		s.api.loseAnswers(true)
		s.happen("Normal", "Started", "")
		synctest.Wait()
		s.api.loseAnswers(false)
		after(10 * time.Second)
		assert.Deep(t, "events", (map[string]int32{"Started ": 1}), s.api.all())
		clear(s.api.events)
		s.happen("Normal", "Started", "")
		synctest.Wait()
		assert.Deep(t, "events", (map[string]int32{"Started ": 2}), s.api.all())
	})
}

// TestEnd: what waits for its turn when the node ends is reported, and nothing is
// waited for that does not come: an API server that is away, or says nothing.
func TestEnd(t *testing.T) {
	many := func(s *recordSetup) {
		for i := range 20 {
			s.Record(Event{Object: PodReference(testPod(fmt.Sprint("web-", i)), ""), Type: "Normal", Reason: "Killing", At: time.Now()})
		}
	}
	for name, test := range map[string]struct {
		fail   func(verb string) error
		silent bool
		sent   int32
		took   time.Duration
	}{
		"there":  {sent: 20},
		"away":   {fail: func(string) error { return errRefusedConnection }},
		"silent": {silent: true, took: flushLongest},
	} {
		t.Run(name, func(t *testing.T) {
			recordBubble(t, RecorderConfig{QPS: 1, Burst: 1}, func(t *testing.T, s *recordSetup) {
				s.api.silent = test.silent
				s.api.set(test.fail)
				many(s)
				s.end()
				begun := time.Now()
				s.run.Wait()
				took, sent := time.Since(begun), s.api.all()["Killing "]
				assert.True(t, took == test.took && sent == test.sent, "%d told in %v, want %d in %v", sent, took, test.sent, test.took)
			})
		})
	}
}

// TestRecordSlots: events wait while other nodes make all the requests that are allowed. Only Run waits. The events are reported as soon as there is room,
// also after the node's end has begun.
func TestRecordSlots(t *testing.T) {
	for _, ends := range []bool{false, true} {
		t.Run(fmt.Sprintf("ends=%t", ends), func(t *testing.T) {
			recordBubble(t, RecorderConfig{}, func(t *testing.T, s *recordSetup) {
				slots := make(chan struct{}, 1) // of the bubble
				s.Recorder.Slots = slots
				slots <- struct{}{}
				after(time.Second)
				before := runtime.NumGoroutine()
				for i := range 10 {
					s.Record(Event{Object: PodReference(testPod(fmt.Sprint("web-", i)), ""), Type: "Warning", Reason: "Failed", At: time.Now()})
				}
				after(time.Second)
				more := runtime.NumGoroutine() - before
				assert.True(t, more <= 0 && len(s.api.all()) == 0, "without room for requests %d goroutines wait, and %v was told", more, s.api.all())
				if ends {
					s.end()
					after(time.Second)
				}
				<-slots
				after(time.Second)
				sent := s.api.all()["Failed "]
				assert.True(t, sent == 10, "%d told of 10", sent)
			})
		})
	}
}
