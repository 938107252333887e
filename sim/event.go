package sim

import (
	"cmp"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/sim/scenario"
)

// How long something is not there if the scenario doesn't say.
const (
	usualReboot     = 30 * time.Second
	usualCrash      = 5 * time.Second
	usualAgentCrash = time.Second
	usualDeaf       = 5 * time.Second
	usualDelay      = time.Second // at most
)

// happens carries out what the scenario has happen.
func happens(w *world, e *scenario.Event) {
	switch {
	case e.Reboot != nil:
		reboots(w, e.Reboot.For.Draw(w.dice, usualReboot))
	case e.RuntimeCrash != nil:
		runtimeCrashes(w, e.RuntimeCrash.For.Draw(w.dice, usualCrash))
	case e.AgentCrash != nil:
		agentCrashes(w, e.AgentCrash.For.Draw(w.dice, usualAgentCrash))
	case e.SetClock != nil:
		setsClock(w, time.Duration(e.SetClock.By))
	case e.LoseEvents != nil:
		disturbs(w, &w.runtime.deafUntil, "are lost", e.LoseEvents.For)
	case e.DoubleEvents != nil:
		disturbs(w, &w.runtime.doubledUntil, "come twice", e.DoubleEvents.For)
	case e.DelayEvents != nil:
		w.runtime.delay = e.DelayEvents.By
		disturbs(w, &w.runtime.delayedUntil, "come late", e.DelayEvents.For)
	case e.SandboxExit != nil:
		sandboxExits(w)
	default:
		somebodyAsks(w, e)
	}
}

// theScenario is who asks for what happens, unless it says.
const theScenario = "the scenario"

func asks(who string) lifecycle.Because { return lifecycle.Because{Text: cmp.Or(who, theScenario)} }

// announce tells what happens around the pod, of which its machine tells nothing.
func announce(w *world, what lifecycle.Words) {
	if w.sink != nil {
		what.Because = cmp.Or(what.Because, theScenario)
		w.sink.Happened(w.wall(), what)
	}
}

// away has something be away for some time. It comes back when nothing keeps it away any more.
func away(w *world, until *time.Duration, long time.Duration, back func()) {
	*until = max(*until, w.now+long)
	w.after(long, func() {
		if w.now >= *until {
			back()
		}
	})
}

// gone tells that something has gone, for as long, and when it comes back. If that was away already, for what was left, it
// can't go.
func gone(subject, what string, left, long time.Duration) lifecycle.Words {
	if left > 0 {
		what = "is away already"
	}
	r := lifecycle.Words{Subject: subject, What: what, Outcome: "does not come back"}
	if left = max(left, long); left < forever {
		r.Outcome = "back in " + rounded(left)
	}
	return r
}

func rounded(d time.Duration) string { return d.Round(time.Millisecond).String() }

// reboots ends everything on the node. The runtime then has the records of what was there.
func reboots(w *world, down time.Duration) {
	announce(w, gone("node", "is rebooted", w.runtime.offUntil-w.now, down))
	powerOff(w)
	away(w, &w.runtime.offUntil, down, func() { announce(w, lifecycle.Words{Subject: "node", What: "has started again"}) })
	w.runtime.downUntil = max(w.runtime.downUntil, w.runtime.offUntil)
	away(w, &w.agent.awayUntil, down, w.start)
}

// runtimeCrashes has the runtime be away; containers go on without it. When it is back, the
// pod is looked at.
func runtimeCrashes(w *world, down time.Duration) {
	announce(w, gone("runtime", "crashes", w.runtime.downUntil-w.now, down))
	w.runtime.times++
	w.breakOff()
	away(w, &w.runtime.downUntil, down, func() {
		announce(w, lifecycle.Words{Subject: "runtime", What: "is back"})
		w.look()
	})
	w.changed()
}

// agentCrashes has another agent go on with the pod later.
func agentCrashes(w *world, down time.Duration) {
	announce(w, gone("agent", "crashes", w.agent.awayUntil-w.now, down))
	w.crash()
	away(w, &w.agent.awayUntil, down, w.start)
}

// setsClock sets the wall clock. What was to happen comes neither earlier nor later.
func setsClock(w *world, by time.Duration) {
	w.drift += by
	what := "is set forward by " + by.String()
	if by < 0 {
		what = "is set back by " + (-by).String()
	}
	if w.sink != nil {
		w.sink.ClockSet(by)
	}
	announce(w, lifecycle.Words{Subject: "clock", What: what})
}

// disturbs has something be wrong with the events of the runtime for some time.
func disturbs(w *world, until *time.Duration, how string, span *scenario.Span) {
	long := span.Draw(w.dice, usualDeaf)
	*until = max(*until, w.now+long)
	announce(w, lifecycle.Words{Subject: "runtime", What: "events " + how + " for " + rounded(long)})
}

// somebodyAsks has somebody ask something of the agent.
func somebodyAsks(w *world, e *scenario.Event) {
	switch {
	case e.Delete != nil:
		deletes(w, e.Delete)
	case e.Kill != nil:
		fact := lifecycle.StopRequested{Force: true, Because: asks(e.Kill.Because)}
		asked(w, "kill requested", fact.Because.Text, func() { w.feed(fact) })
	case e.Restart != nil:
		fact := lifecycle.RestartRequested{Container: e.Restart.Container, Graceful: e.Restart.Graceful, Because: asks(e.Restart.Because)}
		asked(w, "restart requested", fact.Because.Text, func() { w.feed(fact) })
	case e.Evict != nil:
		message := cmp.Or(e.Evict.Message, "The node was low on resource: memory.")
		fact := lifecycle.EvictionRequested{
			Reason: cmp.Or(e.Evict.Reason, "Evicted"), Message: message, Disruption: message, GraceSeconds: e.Evict.GraceSeconds,
		}
		asked(w, "eviction requested", message, func() { w.feed(fact) })
	case e.ObjectsChanged != nil:
		fact := lifecycle.ObjectsChanged{
			Labels: w.pod.Labels, Annotations: w.pod.Annotations, Because: lifecycle.Because{Text: cmp.Or(e.ObjectsChanged.Because, "the scenario changes them")},
		}
		asked(w, "objects changed", fact.Because.Text, func() { w.feed(fact) })
	case e.Resize != nil:
		resizes(w, e.Resize)
	case e.AddContainer != nil:
		added := v1.EphemeralContainer{TargetContainerName: e.AddContainer.Target}
		added.Name, added.Image, added.ImagePullPolicy = e.AddContainer.Name, e.AddContainer.Image, v1.PullIfNotPresent
		asked(w, "ephemeral container "+added.Name+" added", theScenario, func() { w.feed(lifecycle.EphemeralContainerAdded{Container: added}) })
	}
}

// deletes has somebody delete the pod. An agent that was away finds that in the pod's object, and the grace has begun
// without it (B-WRK-10).
func deletes(w *world, d *scenario.Delete) {
	fact := lifecycle.StopRequested{GraceSeconds: d.GraceSeconds, Because: asks(d.Because)}
	if w.outside.learns != nil || w.agent.machine != nil {
		w.feed(fact)
		return
	}
	grace := fact.Grace(w.pod)
	until := w.wall().Add(grace)
	asked(w, "stop requested", fact.Because.Text, func() {
		pod := w.agent.machine.RequestedPod()
		pod.Generation++
		pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = &metav1.Time{Time: until}, new(int64(grace.Seconds()))
		w.feed(lifecycle.PodUpdated{Pod: pod})
	})
}
