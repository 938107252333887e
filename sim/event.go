package sim

import (
	"cmp"
	"time"

	v1 "k8s.io/api/core/v1"

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
	const because = "the scenario"
	switch {
	case e.Delete != nil:
		w.feed(lifecycle.StopRequested{GraceSeconds: e.Delete.GraceSeconds, Because: cmp.Or(e.Delete.Because, because)})
	case e.Kill != nil:
		w.feed(lifecycle.StopRequested{Force: true, Because: cmp.Or(e.Kill.Because, because)})
	case e.Restart != nil:
		w.feed(lifecycle.RestartRequested{Container: e.Restart.Container, Graceful: e.Restart.Graceful, Because: cmp.Or(e.Restart.Because, because)})
	case e.Evict != nil:
		message := cmp.Or(e.Evict.Message, "The node was low on resource: memory.")
		w.feed(lifecycle.EvictionRequested{
			Reason: cmp.Or(e.Evict.Reason, "Evicted"), Message: message, Disruption: message, GraceSeconds: e.Evict.GraceSeconds,
		})
	case e.Reboot != nil:
		reboot(w, e.Reboot.For.Draw(w.dice, usualReboot))
	case e.RuntimeCrash != nil:
		runtimeCrashes(w, e.RuntimeCrash.For.Draw(w.dice, usualCrash))
	case e.AgentCrash != nil:
		w.crash()
		w.after(e.AgentCrash.For.Draw(w.dice, usualAgentCrash), w.start)
	case e.SetClock != nil:
		w.drift += time.Duration(e.SetClock.By)
	case e.LoseEvents != nil:
		w.runtime.deafUntil = w.now + e.LoseEvents.For.Draw(w.dice, usualDeaf)
	case e.DoubleEvents != nil:
		w.runtime.doubledUntil = w.now + e.DoubleEvents.For.Draw(w.dice, usualDeaf)
	case e.DelayEvents != nil:
		w.runtime.delayedUntil, w.runtime.delay = w.now+e.DelayEvents.For.Draw(w.dice, usualDeaf), e.DelayEvents.By
	case e.SandboxExit != nil:
		sandboxExits(w)
	default:
		changesPod(w, e)
	}
}

// changesPod has somebody change what the pod is made of.
func changesPod(w *world, e *scenario.Event) {
	switch {
	case e.ObjectsChanged != nil:
		w.feed(lifecycle.ObjectsChanged{
			Labels: w.pod.Labels, Annotations: w.pod.Annotations, Because: cmp.Or(e.ObjectsChanged.Because, "the scenario changes them"),
		})
	case e.Resize != nil:
		resizes(w, e.Resize)
	case e.AddContainer != nil:
		added := v1.EphemeralContainer{TargetContainerName: e.AddContainer.Target}
		added.Name, added.Image, added.ImagePullPolicy = e.AddContainer.Name, e.AddContainer.Image, v1.PullIfNotPresent
		w.feed(lifecycle.EphemeralContainerAdded{Container: added})
	}
}

// runtimeCrashes has the runtime be away; containers go on without it. When it is back, the
// pod is looked at.
func runtimeCrashes(w *world, down time.Duration) {
	w.runtime.times++
	w.runtime.downUntil = w.now + down
	w.breakOff()
	w.after(down, w.look)
	w.changed()
}

// reboot ends everything on the node. The runtime then has the records of what was there.
func reboot(w *world, down time.Duration) {
	powerOff(w)
	w.runtime.downUntil = w.now + down
	w.after(down, w.start)
}
