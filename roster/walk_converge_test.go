package roster

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/lifepod/lifepod/internal/prove/walks"
	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/roster/admit"
)

// TestConvergingWalks leads each node through two lives in which sources, processes and the
// machine do the same: one without faults, and one in which agents are killed and machines
// started anew, checkpoints and what runs are lost, workers panic, and the API server is cut
// off, tells things twice and goes back in time. The life has chapters. After each the faults
// stop, and the second node comes to where the first is (B-RST-1, B-RST-2, B-RST-4, B-RST-19).
func TestConvergingWalks(t *testing.T) {
	seen := map[string]int{}
	rapid.Check(t, func(rt *rapid.T) {
		s := newScript(rt)
		faultless, troubled := newScripted(rt, s, map[string]int{}), newScripted(rt, s, seen)
		faultless.faultless = true
		faultless.begins()
		troubled.begins()
		faultless.toRest()
		for range 1 + faultless.draw(8, "chapters") {
			s.next(faultless)
			rt.Logf("=== %s, without faults", s.chapter.name)
			faultless.leads()
			rt.Logf("=== %s, with faults", s.chapter.name)
			troubled.suffers()
			if troubled.preemptedMoreThan(faultless) {
				return // a critical pod came while what nobody wants still had its place: another one went, and stays so (B-PRE-1)
			}
			if want, got := faultless.reached(), troubled.reached(); want != got {
				rt.Fatalf("%s: after its faults the node has\n%swithout any it has\n%s", s.chapter.name, got, want)
			}
			troubled.converged()
		}
	})
	walks.Log(t, seen, sometimesConverging)
	for _, what := range sometimesConverging {
		if seen[what] == 0 && long() {
			t.Errorf("no walk ever came by %q: the walks do not prove what they should", what)
		}
	}
}

// sometimesConverging are the chapters and outcomes that a long run must have compared.
var sometimesConverging = []string{
	"compared: pods come", "compared: pods go", "compared: a critical pod comes", "compared: a pod takes another's place", "compared: a resize",
	"compared: memory is short", "compared: a shutdown", "compared: a shutdown is cancelled",
	"compared OutOfcpu", "compared NodeAffinity", "compared UnexpectedAdmissionError", "compared NodeShutdown", "compared Preempting", "compared Evicted",
	"compared Terminated", "compared Succeeded", "compared a pod that waits for its name", "compared a resize that waits for room",
}

// scripted is a walk whose inputs are a script's.
type scripted struct {
	*walk
	pending []input // of the chapter
}

func newScripted(rt *rapid.T, s *script, seen map[string]int) *scripted {
	w := &scripted{walk: newWalk(rt, seen)}
	w.script, w.enoughAfterOne, w.finishes = s, true, map[types.UID]bool{}
	return w
}

// leads plays a chapter without faults.
func (w *scripted) leads() {
	for _, in := range w.script.chapter.inputs {
		in(w.walk)
	}
	w.toRest()
}

// suffers plays a chapter with faults, and then lets everything work.
func (w *scripted) suffers() {
	w.faultless, w.pending = false, w.script.chapter.inputs
	for range w.draw(100, "steps") {
		w.troubled()
	}
	for w.plays() {
		continue
	}
	w.toRest()
}

// plays gives the node the next input of the chapter. It says false if there is none.
func (w *scripted) plays() bool {
	if len(w.pending) == 0 {
		return false
	}
	w.pending[0](w.walk)
	w.pending = w.pending[1:]
	return true
}

// toRest lets everything work until nothing is left to do.
func (w *scripted) toRest() {
	w.faultless = true
	w.heals()
	w.feed(w.measures())
	for range 5000 {
		if !w.worksOnAll() {
			w.rests()
			return
		}
	}
	w.rt.Fatalf("the node never comes to rest: %d facts, %d answers under way", len(w.mail), len(w.answers))
}

// preemptedMoreThan says whether a pod had to make room, while one that no source wants held some, that lives on in the other life.
func (w *scripted) preemptedMoreThan(other *scripted) bool {
	for uid, p := range w.m.pods {
		if o := other.m.pods[uid]; w.crowded && p.status.Reason == admit.PreemptedReason && o != nil && o.status.Reason != admit.PreemptedReason {
			w.note("ended: a pod had to make room that had its place without faults", true)
			return true
		}
	}
	return false
}

// troubled lets one thing happen while things go wrong.
func (w *scripted) troubled() {
	switch action := w.draw(40, "action"); {
	case action < 14 && len(w.mail) > 0:
		w.deliver()
	case action < 17 && len(w.answers) > 0:
		w.answer(w.draw(len(w.answers), "answer"))
	case action < 24 && len(w.workers) > 0:
		w.works(w.at(w.draw))
	case action < 27:
		w.tells(w.sources[w.draw(len(w.sources), "source tells")])
	case action < 31 && len(w.pending) > 0:
		w.plays()
	case action < 33 && !w.busy():
		w.timePasses([]time.Duration{time.Second, 10 * time.Second, time.Minute}[w.draw(3, "time")])
	case action == 33 && !w.script.leavesOut("agent killed"):
		w.crashes()
	case action >= 34 && action < 37:
		w.troublesAPI()
	case len(w.removes) > 0 && !w.cut:
		w.removesObject()
	}
}

// crashes kills the agent. Some inputs come before the next one begins.
func (w *scripted) crashes() {
	w.dies()
	for range w.draw(3, "inputs without an agent") {
		w.plays()
	}
	w.beginsAgain()
	w.feed(w.measures())
}

// busy says that a worker has not yet done what it was told, or that what it has done is not
// known: that takes no time, so that a pod is gone before those that need its place wait no longer (B-WRK-13).
func (w *walk) busy() bool {
	if len(w.mail) > 0 {
		return true
	}
	for _, worker := range w.workers {
		if len(worker.inbox) > 0 || worker.evicted && !lifecycle.Terminal(worker.status.Phase) {
			return true
		}
	}
	return false
}

// keepsCheckpoint says that what is remembered of a pod must not be lost: a static pod that has
// ended would be tried again (B-STA-8); a pod that was resized would be admitted with another size
// than it has; and what decides about room and evictions would not be known for a while.
func (w *walk) keepsCheckpoint(uid types.UID) bool {
	if w.script == nil {
		return false
	}
	k := w.memory[uid]
	return w.script.chapter.kept || w.wasResized(uid) || k != nil && k.Source.Static() && lifecycle.Terminal(k.status.Phase)
}

// mayGoBack says whether the API server may tell an older version of a pod. A converging walk
// has it do so of a pod that lives, whose status the agent knows, and that was never resized, as
// an older size may be granted; and of one that has gone only if nobody else needs the place
// that this one takes meanwhile: a pod that the runtime has lost is admitted again (B-RST-2), and
// refused while this one holds it (A-ADM-4).
func (w *walk) mayGoBack(uid types.UID) bool {
	switch {
	case w.script == nil:
		return true
	case w.wants[uid] == nil:
		return w.script.chapter.ghosts && !lifecycle.Critical(w.versions[uid][0]) && w.fitsBesideAll(uid)
	}
	return w.m.positionOf(uid) == Living && w.workers[uid] != nil && !w.wasResized(uid)
}

// fitsBesideAll says whether a pod that has gone fits beside all that are wanted and have not ended,
// in each of its versions, whether they hold their place or are still to be admitted.
func (w *world) fitsBesideAll(uid types.UID) bool {
	var most, others int64
	for _, version := range w.versions[uid] {
		most = max(most, cpuOf(version).MilliValue())
	}
	for other, want := range w.wants {
		shown := w.shown(other)
		if allocated, _ := allocatedIn(&shown); !lifecycle.Terminal(shown.Phase) {
			others += max(cpuOf(want.pod).MilliValue(), allocated)
		}
	}
	return most+others <= w.cpu
}

// wasResized says whether a pod of the API has ever asked for another size.
func (w *world) wasResized(uid types.UID) bool {
	return slices.ContainsFunc(w.versions[uid], func(older *v1.Pod) bool { return cpuOf(older).Cmp(*cpuOf(w.versions[uid][0])) != 0 })
}

// reached is where a node has come to: the pods that are wanted, the position of each, the
// status that its worker reported and the API server has, what it was allocated and given by name,
// and what holds of the node. Left out is what faults may change: the number of a sandbox, and
// whether a pod that has ended still has a worker (B-WRK-23).
func (w *scripted) reached() string {
	var b strings.Builder
	for _, view := range w.m.Pods() {
		uid, status := view.Pod.UID, &view.Pod.Status
		fmt.Fprintf(&b, "  %s %s %s", uid, status.Phase, status.Reason)
		if !lifecycle.Terminal(status.Phase) {
			cpu, _ := allocatedIn(status)
			fmt.Fprintf(&b, " %s %s, runs=%t, has %d of %d", view.Position, view.Reason, w.runtime[uid] != nil, cpu, cpuOf(w.wants[uid].pod).MilliValue())
		}
		shown := w.shown(uid)
		fmt.Fprintf(&b, ", devices=%t, shown as %s %s\n", w.hasDevices[uid], shown.Phase, shown.Reason)
	}
	fmt.Fprintf(&b, "  conditions %v, shutdown %d\n", w.m.short.conditions, w.m.shutdown.stage)
	return b.String()
}

// shown is a pod's status as the API server has it.
func (w *world) shown(uid types.UID) v1.PodStatus {
	if want := w.wants[uid]; want.source == API {
		return want.pod.Status
	}
	return w.mirrors[uid]
}

// converged notes what was compared.
func (w *scripted) converged() {
	w.note("compared: "+w.script.chapter.name, true)
	for _, view := range w.m.Pods() {
		status := &view.Pod.Status
		w.note("compared "+string(status.Phase), status.Reason == "")
		w.note("compared "+status.Reason, status.Reason != "")
		w.note("compared a pod that waits for its name", view.Position == Waiting)
	}
	w.note("compared a resize that waits for room", w.resizeWaits())
}

// resizeWaits says whether a pod runs with less than it asks for.
func (w *walk) resizeWaits() bool {
	return slices.ContainsFunc(slices.Collect(maps.Values(w.workers)), w.wantsResize)
}
