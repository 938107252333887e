package publish

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/lifecycle"
)

// progress is a status that only tells of progress: its pod has an address.
func progress(ip string) v1.PodStatus {
	return v1.PodStatus{Phase: v1.PodPending, PodIP: ip, PodIPs: []v1.PodIP{{IP: ip}}}
}

func ready(ip string) v1.PodStatus {
	status := progress(ip)
	status.Conditions = []v1.PodCondition{cond(v1.PodReady, v1.ConditionTrue, 1)}
	return status
}

// addresses are what was written for a pod, in order; "+" says that it was Ready.
func (s *setup) addresses(name string) (list []string) {
	for _, status := range s.api.history(name) {
		text := status.PodIP
		if c := condition(status.Conditions, v1.PodReady); c != nil && c.Status == v1.ConditionTrue {
			text += "+"
		}
		list = append(list, text)
	}
	return list
}

func (s *setup) want(name string, want ...string) {
	s.t.Helper()
	assert.Deep(s.t, fmt.Sprintf("written for %s", name), want, s.addresses(name))
}

// TestProgressWaits: steps of a start wait about a second for what follows, which takes their place and goes at once; a
// step that nothing follows is written after that second (A-STAT-12).
func TestProgressWaits(t *testing.T) {
	bubble(t, WriterConfig{}, func(t *testing.T, s *setup) {
		web := s.pod("web")
		s.Set(web, progress("10.0.0.1"), nil)
		after(600 * time.Millisecond)
		s.Set(web, progress("10.0.0.2"), nil)
		after(300 * time.Millisecond)
		s.want("web")
		s.set(web, ready("10.0.0.2"), nil)
		s.want("web", "10.0.0.2+")

		other := s.pod("other")
		s.Set(other, progress("10.0.0.3"), nil)
		after(600 * time.Millisecond)
		s.Set(other, progress("10.0.0.4"), nil) // does not make it wait anew
		after(700 * time.Millisecond)
		s.want("other", "10.0.0.4")
	})
}

// TestProgressAfterFailure: what was not reported at once because the API server did not take it does not wait
// again because progress came after it.
func TestProgressAfterFailure(t *testing.T) {
	bubble(t, WriterConfig{}, func(t *testing.T, s *setup) {
		web := s.pod("web")
		s.api.fail(fault{delay: 30 * time.Millisecond, err: errRefusedConnection, times: 1})
		s.Set(web, ready("10.0.0.1"), nil)
		time.Sleep(10 * time.Millisecond) // it is on its way
		s.Set(web, ready("10.0.0.2"), nil)
		after(500 * time.Millisecond)
		s.want("web", "10.0.0.2+")
	})
}

// TestProgressOfMany: when many pods start at once, progress waits longer, though not for ever, and whatever is no
// progress goes at once.
func TestProgressOfMany(t *testing.T) {
	bubble(t, WriterConfig{}, func(t *testing.T, s *setup) {
		var pods []Ref
		for i := range 200 {
			pods = append(pods, s.pod(fmt.Sprint("web-", i)))
			s.Set(pods[i], progress("10.0.0.1"), nil)
		}
		after(9 * time.Second)
		for _, pod := range pods[:100] {
			s.set(pod, ready("10.0.0.1"), nil)
			s.want(pod.Name, "10.0.0.1+")
		}
		assert.Equal(t, 100, s.api.count("PATCH"), "statuses")
		after(time.Second)
		for _, pod := range pods[100:] {
			s.want(pod.Name, "10.0.0.1")
		}
	})
}

// TestProgressAndOthers: what others have changed of the node's part is repaired, although progress waits (A-STAT-4).
func TestProgressAndOthers(t *testing.T) {
	bubble(t, WriterConfig{}, func(t *testing.T, s *setup) {
		web := s.pod("web")
		s.set(web, ready("10.0.0.1"), nil)
		s.Set(web, ready("10.0.0.2"), nil)
		s.change("web", func(*v1.Pod) {}) // not its status
		synctest.Wait()
		s.want("web", "10.0.0.1+")
		s.change("web", func(p *v1.Pod) { p.Status.Conditions = nil })
		synctest.Wait()
		s.want("web", "10.0.0.1+", "10.0.0.2+")
	})
}

// TestLastStatusWaitsForNothing: the last status of a pod, and all statuses when somebody waits for them to be
// written, as at the machine's shutdown.
func TestLastStatusWaitsForNothing(t *testing.T) {
	bubble(t, WriterConfig{}, func(t *testing.T, s *setup) {
		web, other := s.pod("web"), s.pod("other")
		began := time.Now()
		s.Delete(web, progress("10.0.0.1"))
		synctest.Wait()
		s.want("web", "10.0.0.1")
		s.Set(other, progress("10.0.0.2"), nil)
		s.AwaitSent(t.Context())
		s.want("other", "10.0.0.2")
		assert.True(t, time.Since(began) == 0, "it took %v", time.Since(began))
	})
}

// TestAwaitDue: who waits for what is due goes on while progress waits (A-STAT-12), and not before the API server has what is due.
func TestAwaitDue(t *testing.T) {
	bubble(t, WriterConfig{}, func(t *testing.T, s *setup) {
		web, other := s.pod("web"), s.pod("other")
		s.api.fail(fault{delay: 2 * time.Second, times: 1})
		began := time.Now()
		s.Set(web, running("up"), nil)
		s.AwaitDue(t.Context())
		took := time.Since(began)
		assert.True(t, took >= 2*time.Second && len(s.messages("web")) == 1, "after %v the API server has %q", took, s.messages("web"))
		began = time.Now()
		s.Set(other, progress("10.0.0.2"), nil)
		s.AwaitDue(t.Context())
		took = time.Since(began)
		assert.True(t, took == 0 && len(s.messages("other")) == 0, "after %v the API server has %q", took, s.messages("other"))
	})
}

// TestAfterStatuses: what waits for a pod's statuses is called after the API server has them, whatever
// they wait for, and at once if none waits or it would wait for long.
func TestAfterStatuses(t *testing.T) {
	type what struct {
		fault *fault
		set   bool
		now   bool
		gone  bool
		uid   types.UID
		want  time.Duration
	}
	for name, c := range map[string]what{
		"none waits":            {},
		"another pod's":         {set: true, uid: "other"},
		"a step":                {set: true, want: window + windowEach},
		"a step, without delay": {set: true, now: true},
		"slow":                  {set: true, now: true, fault: &fault{delay: 700 * time.Millisecond, times: 1}, want: 700 * time.Millisecond},
		"refused":               {set: true, fault: &fault{err: invalid(), times: -1}, want: window + windowEach},
		"away":                  {set: true, fault: &fault{err: errRefusedConnection, times: -1}, want: window + windowEach},
		"the pod goes":          {set: true, gone: true},
	} {
		named(t, name, WriterConfig{}, func(t *testing.T, s *setup) {
			web := s.pod("web")
			if c.fault != nil {
				s.api.fail(*c.fault)
			}
			if c.set {
				s.Set(web, progress("10.0.0.1"), nil)
			}
			if c.uid == "" {
				c.uid = web.UID
			}
			began, took := time.Now(), time.Duration(-1)
			s.AfterStatuses(c.uid, c.now, func() { took = time.Since(began) })
			if c.gone {
				s.Gone(s.api.get("web"))
			}
			after(time.Minute)
			assert.Equal(t, c.want, took, "called after")
		})
	}
}

// TestAfterStatusesAtTheEnd: with the Writer nothing is lost that waits for it.
func TestAfterStatusesAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, WriterConfig{})
		web := s.pod("web")
		s.Set(web, progress("10.0.0.1"), nil)
		called := 0
		s.AfterStatuses(web.UID, false, func() { called++ })
		s.stop()
		s.AfterStatuses(web.UID, false, func() { called++ })
		assert.True(t, called == 2, "called %d times", called)
	})
}

// TestProgressWaitsForSlowServer: progress waits longer when the API server takes long to answer (A-STAT-12).
func TestProgressWaitsForSlowServer(t *testing.T) {
	bubble(t, WriterConfig{}, func(t *testing.T, s *setup) {
		web := s.pod("web")
		s.api.fail(fault{times: 1, delay: 2 * time.Second})
		s.Set(web, ready("10.0.0.1"), nil)
		after(2 * time.Second)
		s.Set(web, func() v1.PodStatus {
			status := ready("10.0.0.1")
			waiting := v1.ContainerState{Waiting: &v1.ContainerStateWaiting{Reason: "ContainerCreating"}}
			status.ContainerStatuses = []v1.ContainerStatus{{Name: "main", State: waiting}}
			return status
		}(), nil)
		after(5 * time.Second)
		n := s.api.count("PATCH")
		assert.True(t, n == 1, "%d patches before three times as long as the last one took", n)
		after(2 * time.Second)
		assert.Equal(t, 2, s.api.count("PATCH"), "patches in the end")
	})
}

// TestSlots: a Writer that has to wait for its turn among others writes what is newest then.
func TestSlots(t *testing.T) {
	bubble(t, WriterConfig{}, func(t *testing.T, s *setup) {
		slots := make(chan struct{}, 1)
		s.Writer.Slots = slots
		slots <- struct{}{} // somebody else's request
		web := s.pod("web")
		s.Set(web, ready("10.0.0.1"), nil)
		after(20 * time.Second)
		s.Set(web, ready("10.0.0.2"), nil)
		s.want("web")
		<-slots
		synctest.Wait()
		s.want("web", "10.0.0.2+")
		assert.True(t, len(slots) == 0, "the place is not given back")
	})
}

// Where a member of a group is.
const restarting, barrier, starting, started = "restarting", "barrier", "starting", "started"

// member is the status of a member of a group.
func member(is, message string) v1.PodStatus {
	status := v1.PodStatus{Phase: v1.PodRunning, PodIP: "10.0.0.1", PodIPs: []v1.PodIP{{IP: "10.0.0.1"}}}
	yes := map[bool]v1.ConditionStatus{true: v1.ConditionTrue, false: v1.ConditionFalse}
	status.Conditions = []v1.PodCondition{cond(v1.PodReady, yes[is == started], 1), cond(v1.AllContainersRestarting, yes[is == restarting], 1)}
	c := v1.ContainerStatus{Name: "worker", Ready: is == started}
	switch is {
	case restarting:
		c.State.Terminated = &v1.ContainerStateTerminated{ExitCode: 137}
	case barrier:
		c.State.Waiting = &v1.ContainerStateWaiting{Reason: "WaitingForGroup", Message: message}
	case starting:
		c.State.Waiting = &v1.ContainerStateWaiting{Reason: "ContainerCreating"}
	case started:
		c.State.Running = &v1.ContainerStateRunning{}
	}
	status.ContainerStatuses = []v1.ContainerStatus{c}
	return status
}

// restartable lets the worker of a member restart.
func restartable(pod *v1.Pod) {
	pod.Spec.RestartPolicy, pod.Spec.Containers = v1.RestartPolicyAlways, []v1.Container{{Name: "worker"}}
}

// members is what was written of a member, in order.
func (s *setup) members(name string) (list []string) {
	for _, status := range s.api.history(name) {
		switch state := status.ContainerStatuses[0].State; {
		case state.Terminated != nil:
			list = append(list, restarting)
		case state.Waiting != nil:
			list = append(list, barrier+state.Waiting.Message)
		default:
			list = append(list, started)
		}
	}
	return list
}

// TestBarrierWaitsForGroup: that a member has come to the barrier of its group is not reported if the group starts within
// thirty seconds, or longer where the API server is slow, and reported then if it does not; the restart before it and the
// start after it go at once, and nobody waits that long for another word of it (A-STAT-12, B-GRP-5).
func TestBarrierWaitsForGroup(t *testing.T) {
	bubble(t, WriterConfig{}, func(t *testing.T, s *setup) {
		wantSent := func(want ...string) {
			t.Helper()
			assert.Deep(t, "written", want, s.members("train-0"))
		}
		pod := s.pod("train-0", restartable)
		s.set(pod, member(started, ""), nil)
		s.set(pod, member(restarting, ""), func(error) {})
		wantSent(started, restarting)
		s.Set(pod, member(barrier, ""), nil)
		after(29 * time.Second)
		wantSent(started, restarting)
		s.Set(pod, member(starting, ""), nil) // waits anew, and not for the group
		after(900 * time.Millisecond)
		wantSent(started, restarting)
		s.set(pod, member(started, ""), nil)
		wantSent(started, restarting, started)

		s.set(pod, member(restarting, ""), func(error) {})
		s.Set(pod, member(barrier, ""), nil)
		after(30 * time.Second)
		wantSent(started, restarting, started, restarting, barrier)
		s.Set(pod, member(barrier, " of others"), nil)
		after(time.Second)
		wantSent(started, restarting, started, restarting, barrier, barrier+" of others")

		s.api.fail(fault{times: 1, delay: 2 * time.Second})
		s.Set(pod, member(restarting, ""), func(error) {})
		after(2 * time.Second)
		s.Set(pod, member(barrier, ""), nil)
		after(2*time.Minute - time.Second) // sixty times as long as a write takes
		wantSent(started, restarting, started, restarting, barrier, barrier+" of others", restarting)
		after(time.Second)
		wantSent(started, restarting, started, restarting, barrier, barrier+" of others", restarting, barrier)
	})
}

// TestRestartWaitsForStart: the restart of a member whose node tells the others of it is reported with its start, in one status, unless the
// start takes longer than three seconds (A-STAT-12, B-GRP-26).
func TestRestartWaitsForStart(t *testing.T) {
	for name, c := range map[string]struct {
		takesPart string
		long      time.Duration
		want      []string
	}{
		"soon":         {"1.1", 2 * time.Second, []string{started, started}},
		"late":         {"1.1", 4 * time.Second, []string{started, barrier, barrier, started}},
		"by its pod":   {"1", time.Second, []string{started, restarting, barrier, started}},
		"another mode": {"1.3", time.Second, []string{started, restarting, barrier, started}},
	} {
		named(t, name, WriterConfig{}, func(t *testing.T, s *setup) {
			pod := s.pod("train-0", restartable)
			says := func(attempt, began string) {
				notes := map[string]string{lifecycle.MemberAttemptAnnotation: attempt}
				if began != "" {
					notes[lifecycle.MemberBeganAnnotation] = began
				}
				s.Annotate(pod, notes)
			}
			says("0.1", "0-x")
			s.set(pod, member(started, ""), nil)
			says(c.takesPart, "")
			s.set(pod, member(restarting, ""), func(error) {})
			s.Set(pod, member(barrier, ""), nil)
			after(c.long)
			says(c.takesPart, "1-x")
			s.Set(pod, member(starting, ""), nil)
			after(500 * time.Millisecond)
			s.set(pod, member(started, ""), nil)
			assert.Deep(t, "written", c.want, s.members("train-0"))
		})
	}
}

// TestBarrierBehindTransition: what waits for the group still does when it is set before the restart, which watchers must see, is
// on its way; and a restart that could not be reported in time does not wait with what has taken its place (A-STAT-12, B-RAC-23).
func TestBarrierBehindTransition(t *testing.T) {
	for name, c := range map[string]struct {
		busy time.Duration
		want []string
	}{
		"soon":     {busy: time.Second, want: []string{started, restarting, started}},
		"too late": {busy: 10 * time.Second, want: []string{started, barrier, started}},
	} {
		named(t, name, WriterConfig{}, func(t *testing.T, s *setup) {
			slots := make(chan struct{}, 1)
			s.Writer.Slots = slots
			pod := s.pod("train-0", restartable)
			s.set(pod, member(started, ""), nil)
			slots <- struct{}{} // somebody else's request
			s.Set(pod, member(restarting, ""), func(error) {})
			s.Set(pod, member(barrier, ""), nil)
			s.change("train-0", func(*v1.Pod) {}) // somebody else's annotation
			after(c.busy)
			s.Set(pod, member(barrier, ""), nil)
			<-slots
			after(5 * time.Second)
			s.set(pod, member(started, ""), nil)
			assert.Deep(t, "written", c.want, s.members("train-0"))
		})
	}
}
