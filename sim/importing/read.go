package importing

import (
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/sim/importing/stages"
	"github.com/lifepod/lifepod/sim/scenario"
)

// forGood is how often a pull fails that never works.
const forGood = 1_000_000

// read makes the scenario of what the Stages do. One container after another is started, as lifepod does it: what they do
// at the same time takes no time for the later ones.
func (l *life) read() {
	l.scenario.Containers, l.scenario.Images = map[string]scenario.Container{}, map[string]scenario.Image{}
	if len(l.way.Taken) == 0 {
		l.onlyEnds()
		return
	}
	begun := l.sandbox()
	if begun == 0 {
		l.unbegun()
		return
	}
	at, histories := begun, map[string]*history{}
	for _, c := range l.containers() {
		histories[c.Name] = l.historyOf(c.Name)
	}
	l.phaseEnds(histories)
	for _, c := range l.containers() {
		at = (&container{l, c, histories[c.Name]}).file(at)
	}
	l.together(histories)
	l.stops()
	l.conditions()
	if l.way.Deleted() {
		n := len(l.way.Taken)
		l.scenario.Events = append(l.scenario.Events, scenario.Event{At: l.between(0, n).Span(), Kill: &scenario.Kill{Because: "the Stage " + l.stage(n).Name}})
		l.notes.OfStatus(l.stage(n), "deletes the pod: this is an event kill, which lifepod sim nodes refuses")
	}
}

// part is a container of the pod, and what it is there.
type part struct {
	*v1.Container
	init, sidecar bool
}

func (l *life) containers() (list []part) {
	for i := range l.pod.Spec.InitContainers {
		c := &l.pod.Spec.InitContainers[i]
		sidecar := c.RestartPolicy != nil && *c.RestartPolicy == v1.ContainerRestartPolicyAlways
		list = append(list, part{c, !sidecar, sidecar})
	}
	for i := range l.pod.Spec.Containers {
		list = append(list, part{Container: &l.pod.Spec.Containers[i]})
	}
	return list
}

// sandbox is after how many Stages the pod has begun: it has an address, or a container that has got further than that.
// That is how long its sandbox takes; none if only an image is waited for, which is pulled beside it. 0: it never begins.
func (l *life) sandbox() int {
	for i := range l.way.Taken {
		begun, pulls := l.hasBegun(l.way.Taken[i].Pod)
		if !begun && !pulls {
			continue
		}
		takes := scenario.Fixed(0)
		if begun {
			takes = l.between(0, i+1).Span()
		}
		l.scenario.Calls = append(l.scenario.Calls, scenario.Call{Call: "CreateSandbox", Takes: takes})
		return i + 1
	}
	return 0
}

// hasBegun says whether there is a sandbox, and whether there must have been a pull.
func (l *life) hasBegun(pod *v1.Pod) (begun, pulls bool) {
	begun = pod.Status.PodIP != ""
	for _, c := range l.containers() {
		h := history{}
		if status := statusOf(pod, c.Name); status != nil {
			h.see(1, status)
		}
		begun = begun || h.instances != nil || h.create != nil
		pulls = pulls || h.pull != nil
	}
	return begun, pulls
}

// unbegun is a pod that has no sandbox: it ends before, or waits for ever.
func (l *life) unbegun() {
	n := len(l.way.Taken)
	switch status := l.way.Pod().Status; status.Phase {
	case v1.PodFailed:
		l.evict(n)
	case v1.PodSucceeded:
		l.notes.OfStatus(l.stage(n), "the pod Succeeded before a container has run: its containers run, and end as usual")
	default:
		l.notes.OfStatus(l.stage(n), "the pod has no address and no container that runs: here it begins as usual")
	}
}

// evict is how a pod fails that no container makes fail.
func (l *life) evict(at int) {
	status := l.way.Taken[at-1].Pod.Status
	l.scenario.Events = append(l.scenario.Events, scenario.Event{At: l.between(0, at).Span(), Evict: &scenario.Evict{Reason: status.Reason, Message: status.Message}})
	l.notes.OfStatus(l.stage(at), "the phase is Failed without a container that has failed: here the pod is evicted")
}

// phaseEnds ends containers that run when the pod's phase is final.
func (l *life) phaseEnds(histories map[string]*history) {
	at := 1 + slices.IndexFunc(l.way.Taken, func(t stages.Taken) bool {
		return t.Pod.Status.Phase == v1.PodFailed || t.Pod.Status.Phase == v1.PodSucceeded
	})
	if at == 0 {
		return
	}
	var running []string
	failed, begun := false, false
	for _, c := range l.containers() {
		h := histories[c.Name]
		begun = begun || h.begunBy(at)
		failed = failed || h.failedBy(at)
		if in := h.running(); in != nil && !c.sidecar && in.from <= at {
			running = append(running, c.Name)
		}
	}
	status := l.way.Taken[at-1].Pod.Status
	fails := status.Phase == v1.PodFailed && !failed
	switch {
	case fails && (status.Reason != "" || !begun):
		l.evict(at)
	case l.pod.Spec.RestartPolicy != v1.RestartPolicyAlways: // otherwise they would only be started again
		l.endAll(histories, running, at, fails)
	}
}

// endAll ends containers with the pod; with an error if nothing else makes it fail.
func (l *life) endAll(histories map[string]*history, running []string, at int, fails bool) {
	if len(running) == 0 {
		return
	}
	end := &v1.ContainerStateTerminated{}
	if fails {
		end.ExitCode = 1
	}
	for _, name := range running {
		in := histories[name].running()
		histories[name].ends(at, in.restarts, end)
	}
	verbs := [2]string{"runs", "it ends"}
	if len(running) > 1 {
		verbs = [2]string{"run", "they end"}
	}
	l.notes.OfStatus(l.stage(at), "the phase is final while %s %s: %s then, with exit code %d", strings.Join(running, " and "), verbs[0], verbs[1], end.ExitCode)
}

// together notes that containers whose end is drawn end at the same time only with KWOK.
func (l *life) together(histories map[string]*history) {
	ends := map[int][]string{}
	for _, c := range l.containers() {
		for _, in := range histories[c.Name].instances {
			if !c.init && !c.sidecar && in.ended && l.way.Taken[in.to-1].After.Least != l.way.Taken[in.to-1].After.Most {
				ends[in.to] = append(ends[in.to], c.Name)
			}
		}
	}
	for at := range l.way.Taken {
		if names := ends[at+1]; len(names) > 1 {
			l.notes.OfStatus(l.stage(at+1), "%s end at the same time with KWOK: here each has a time of its own, drawn from the same range", strings.Join(names, " and "))
		}
	}
}

// stops is how the pod ends when somebody deletes it: the first container that runs takes that long, the others no time.
func (l *life) stops() {
	if !l.ending.Deleted() || len(l.way.Taken) > 0 && !runs(l.endsFrom) {
		return
	}
	after := total(l.ending.Taken)
	if after.Most > graceOf(l.pod) {
		l.notes.OfStatus(l.ending.Taken[0].Stage, "the pod takes up to %v to end: here it is killed after its grace period, %v", after.Most, graceOf(l.pod))
	}
	for _, c := range l.containers() {
		says, has := l.scenario.Containers[c.Name]
		if !has || c.init {
			continue
		}
		stop := &scenario.Stop{After: scenario.Fixed(0)}
		if !c.sidecar {
			stop.After = after.Span()
			after.Least, after.Most = 0, 0
		}
		if s := statusOf(l.ending.Pod(), c.Name); s != nil && s.State.Terminated != nil {
			stop.Exit = l.exitCode(l.ending.Taken[0].Stage, c.Name, s.State.Terminated)
		}
		for i := range says.Runs {
			if says.Runs[i].StartError == "" {
				says.Runs[i].Stop = stop
			}
		}
	}
}

// onlyEnds is a pod of which the Stages say how it ends, and nothing before.
func (l *life) onlyEnds() {
	l.notes.Say("no Stage applies before somebody deletes the pod: here it runs as usual")
	for _, c := range l.containers() {
		if !c.init {
			l.scenario.Containers[c.Name] = scenario.Container{Runs: []scenario.Run{{}}}
		}
	}
	l.stops()
}

// conditions are said if nobody sets them here.
func (l *life) conditions() {
	usual := map[v1.PodConditionType]bool{
		v1.PodReady: true, v1.ContainersReady: true, v1.PodInitialized: true, v1.PodScheduled: true, v1.PodReadyToStartContainers: true,
	}
	for i := range l.way.Taken {
		for _, c := range l.way.Taken[i].Pod.Status.Conditions {
			if !usual[c.Type] {
				l.notes.OfStatus(l.stage(i+1), "the condition %s is not set: lifepod sets none of others", c.Type)
			}
		}
	}
}
