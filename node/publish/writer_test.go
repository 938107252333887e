package publish

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/internal/assert"
)

// TestWrittenAtOnce: no timer batches statuses (A-STAT-1), and an equal status
// costs no call (A-STAT-3), be it the first after a restart.
func TestWrittenAtOnce(t *testing.T) {
	bubble(t, WriterConfig{}, func(t *testing.T, s *setup) {
		began := time.Now()
		web := s.pod("web")
		s.set(web, running("up"), nil)
		assert.Deep(t, "written", []string{"up"}, s.messages("web"))
		assert.True(t, time.Since(began) == 0, "it took %s", time.Since(began))
		s.Set(web, running("up"), nil)
		s.Live(s.api.get("web")) // the echo
		s.Set(web, running("up"), nil)

		same := s.pod("same", func(p *v1.Pod) { p.Status = running("as before") })
		s.Set(same, running("as before"), nil)
		after(time.Hour)
		assert.Deep(t, "requests", []string{"PATCH web"}, s.api.requests)
	})
}

// TestCoalesced: while a request is under way only the newest status waits, but
// each transition is written by itself and in order (B-RAC-23).
func TestCoalesced(t *testing.T) {
	bubble(t, WriterConfig{Patience: time.Minute}, func(t *testing.T, s *setup) {
		var result seen
		web := s.pod("web")
		s.api.fail(fault{delay: time.Second, times: 1})
		s.set(web, running("1"), nil)
		for _, message := range []string{"2", "3", "restarting True", "5", "6", "restarting False", "8", "9"} {
			var tell func(error)
			if strings.HasPrefix(message, "restarting") {
				tell = result.by(message)
			}
			s.Set(web, running(message), tell)
		}
		after(time.Second)
		assert.Deep(t, "written", []string{"1", "restarting True", "restarting False", "9"}, s.messages("web"))
		assert.Deep(t, "told", []string{"restarting True: <nil>", "restarting False: <nil>"}, result.all())
	})
}

// TestUnseen: a transition does not hold its caller up while the API server is
// away, and is written all the same; what newer ones supersede then is not kept.
func TestUnseen(t *testing.T) {
	bubble(t, WriterConfig{Patience: 3 * time.Second}, func(t *testing.T, s *setup) {
		var result seen
		web := s.pod("web")
		s.api.fail(fault{times: -1, err: errRefusedConnection})
		for round := range 100 {
			s.Set(web, running(fmt.Sprint("True ", round)), result.by("True"))
			after(5 * time.Second)
			s.Set(web, running(fmt.Sprint("False ", round)), nil)
		}
		n := len(s.entries[web.UID].queue)
		assert.True(t, n <= 1, "%d statuses are kept", n)
		for _, line := range result.all() {
			assert.Equal(t, "True: "+ErrUnseen.Error(), line, "told")
		}
		s.Set(web, running("last True"), result.by("last"))
		s.api.fail()
		after(2 * time.Second)
		assert.Deep(t, "written", []string{"last True"}, s.messages("web"))
		if got, want := len(result.all()), 101; got != want || result.all()[100] != "last: <nil>" {
			t.Errorf("told %d times, want %d; last %q", got, want, result.all()[got-1])
		}
	})
}

// TestSlowPod: one slow call delays no other pod (A-STAT-2).
func TestSlowPod(t *testing.T) {
	bubble(t, WriterConfig{}, func(t *testing.T, s *setup) {
		s.api.fail(fault{pod: "slow", times: 3, delay: time.Hour})
		s.set(s.pod("slow"), running("late"), nil)
		for i := range 40 {
			name := fmt.Sprint("web-", i)
			web := s.pod(name)
			for j := range 20 {
				began := time.Now()
				s.set(web, running(fmt.Sprint(j)), nil)
				got := s.api.get(name).Status.Message
				assert.Require(t, got == fmt.Sprint(j) && time.Since(began) == 0, "%s has %q after %s", name, got, time.Since(began))
				time.Sleep(time.Second)
			}
		}
		assert.Deep(t, "written", []string{"late"}, s.messages("slow"))
	})
}

// TestOutage: however long the API server was away, it is tried at most every two
// seconds or so by one request at a time, logged about twice, and everything is
// right within two seconds of its return, or at once when the watch is back.
func TestOutage(t *testing.T) {
	for _, watch := range []bool{false, true} {
		named(t, fmt.Sprint("watch ", watch), WriterConfig{}, func(t *testing.T, s *setup) {
			var refs []Ref
			for i := range 100 {
				refs = append(refs, s.pod(fmt.Sprint("web-", i)))
			}
			s.api.fail(fault{times: -1, err: errRefusedConnection})
			for i := range 60 {
				for _, ref := range refs {
					s.Set(ref, running(fmt.Sprint(i)), nil)
				}
				after(time.Minute)
			}
			got := len(s.api.requests)
			assert.True(t, got >= 1800 && got <= 4000, "%d requests in an hour", got)
			s.api.fail()
			if watch {
				s.Live(s.api.get("web-0"))
				synctest.Wait()
			} else {
				after(2 * time.Second)
			}
			for _, ref := range refs {
				got, want := s.messages(ref.Name), []string{"59"}
				assert.Require(t, cmp.Equal(got, want), "%s: written %q, want %q", ref, got, want)
			}
			n := s.log.lines()
			assert.True(t, n == 2, "%d lines are logged:\n%s", n, s.log)
		})
	}
}

// TestSilence: an API server that takes requests and never answers is told of
// once, and everything is right soon after it answers again.
func TestSilence(t *testing.T) {
	bubble(t, WriterConfig{}, func(t *testing.T, s *setup) {
		s.api.fail(fault{times: -1, delay: time.Hour})
		for i := range 100 {
			s.Set(s.pod(fmt.Sprint("web-", i)), running("1"), nil)
		}
		after(time.Hour)
		s.api.fail()
		after(12 * time.Second)
		for i := range 100 {
			name := fmt.Sprint("web-", i)
			got, want := s.messages(name), []string{"1"}
			assert.Require(t, cmp.Equal(got, want), "%s: written %q, want %q", name, got, want)
		}
		n := s.log.lines()
		assert.True(t, n == 2, "%d lines are logged:\n%s", n, s.log)
	})
}

// TestLostAnswer: a write whose answer was lost is looked up, not believed
// either way; a status that goes back meanwhile is written all the same.
func TestLostAnswer(t *testing.T) {
	bubble(t, WriterConfig{}, func(t *testing.T, s *setup) {
		web := s.pod("web", func(p *v1.Pod) { p.Status = running("0") })
		s.api.fail(fault{verb: "PATCH", times: 1, lose: true, delay: time.Millisecond})
		s.set(web, running("1"), nil)
		s.Set(web, running("0"), nil)
		after(2 * time.Second)
		assert.Deep(t, "written", []string{"1", "0"}, s.messages("web"))
	})
}

// TestSuccessor: a pod of the same name with another UID is never touched, however
// the Writer comes to know of it (B-FIN-10).
func TestSuccessor(t *testing.T) {
	other := func(p *v1.Pod) { p.UID = "another" }
	for name, learn := range map[string]func(s *setup){
		"by a conflict":      func(s *setup) {},
		"by a lost watch":    func(s *setup) { s.pod("web", other) },
		"by its end":         func(s *setup) { s.Gone(s.objects.of(Ref{Namespace: "default", Name: "web", UID: "uid-web"})) },
		"because it is gone": func(s *setup) { s.api.remove("web") },
	} {
		named(t, name, WriterConfig{}, func(t *testing.T, s *setup) {
			var result seen
			web := s.pod("web")
			s.set(web, running("1"), nil)
			successor := s.api.get("web").DeepCopy()
			other(successor)
			s.api.put(successor)
			learn(s)
			s.Set(web, running("2"), result.by("2"))
			after(time.Minute)
			s.Delete(web, phased(v1.PodFailed, "3"))
			after(time.Minute)
			got := s.api.get("web")
			assert.True(t, got == nil || got.UID == "another" && got.Status.Message != "2", "the successor is %v", got)
			assert.Deep(t, "told", []string{"2: " + ErrGone.Error()}, result.all())
			assert.True(t, len(s.entries) == 0, "%d pods are remembered", len(s.entries))
		})
	}
}
