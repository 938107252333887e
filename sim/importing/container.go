package importing

import (
	"cmp"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/sim/importing/stages"
	"github.com/lifepod/lifepod/sim/scenario"
)

// container is one of the pod's, and what the Stages do to it.
type container struct {
	*life
	part
	*history
}

// file files what the container does, which can begin after so many Stages, and says after how many the next one can.
func (c *container) file(at int) int {
	l, h := c.life, c.history
	if c.sidecar {
		c.keepSidecar()
	}
	c.filePull()
	if h.create != nil {
		c.refuseCreation()
	}
	if l.way.Repeats && len(h.instances) > 1 && h.running() != nil {
		h.instances = h.instances[:len(h.instances)-1] // it goes on as the one before it
	}
	if h.instances == nil {
		c.neverRuns()
		return at
	}
	var runs []scenario.Run
	for i, in := range h.instances {
		begins := max(at, in.from)
		start := l.between(at, begins)
		if i > 0 || h.pull != nil || h.create != nil {
			c.ownBackOff(i)
			begins, start = in.from, stages.Delay{}
		}
		runs = append(runs, c.run(in, begins, start))
		if i == 0 {
			at = begins
		}
		if c.init && in.ended {
			at = max(at, in.to)
		}
	}
	l.scenario.Containers[c.Name] = scenario.Container{Runs: runs}
	return at
}

// keepSidecar has a sidecar run on that the Stages end well: it would be started again.
func (c *container) keepSidecar() {
	if len(c.instances) != 1 || !c.instances[0].ended || c.instances[0].end.ExitCode != 0 || c.instances[0].startError != "" {
		return
	}
	in := c.instances[0]
	c.notes.OfStatus(c.stage(in.to), "ends the sidecar %s, which would be started again: it runs on", c.Name)
	in.ended = false
}

// run is what an instance does, which begins after so many Stages.
func (c *container) run(in *instance, begins int, start stages.Delay) (r scenario.Run) {
	l := c.life
	r.Start = start.Span()
	if in.startError != "" {
		r.StartError = in.startError
		return r
	}
	c.readiness(in, begins, &r)
	if !in.ended {
		forever, _ := scenario.ParseSpan("forever") // it is one
		r.Run = &forever
		return r
	}
	stage := l.stage(in.to)
	r.Run = l.between(begins, in.to).Span()
	r.Message = in.end.Message
	switch in.end.Reason {
	case "OOMKilled":
		r.OOM = true
		return r
	case "ContainerCannotRun", "StartError":
		return scenario.Run{Start: r.Start, StartError: cmp.Or(in.end.Message, in.end.Reason)}
	}
	r.Exit = l.exitCode(stage, c.Name, &in.end)
	if usual := scenario.ReasonOf(*r.Exit); in.end.Reason != "" && in.end.Reason != usual {
		l.notes.OfStatus(stage, "%s ends with the reason %s: here it is %s, as the exit code %d says", c.Name, in.end.Reason, usual, *r.Exit)
	}
	return r
}

// exitCode is that of an end, as a process can have it.
func (l *life) exitCode(stage *stages.Stage, name string, end *v1.ContainerStateTerminated) *int32 {
	code := end.ExitCode
	if code == 0 && end.Signal > 0 {
		code = 128 + end.Signal
	}
	if code < 0 || code > 255 {
		l.notes.OfStatus(stage, "%s ends with exit code %d, which no process can have: here it is 1", name, code)
		code = 1
	}
	return &code
}

// readiness is from when on an instance is ready.
func (c *container) readiness(in *instance, begins int, r *scenario.Run) {
	changes := in.ready
	if in.ended && len(changes) > 0 && changes[len(changes)-1].at >= in.to {
		changes = changes[:len(changes)-1]
	}
	if len(changes) == 0 || len(changes) == 1 && changes[0].ready {
		return
	}
	if c.ReadinessProbe == nil {
		c.withoutProbe(changes)
		return
	}
	forever, _ := scenario.ParseSpan("forever") // it is one
	switch {
	case len(changes) == 1:
		r.Ready = &forever
	case len(changes) == 2 && changes[1].ready:
		r.Ready = c.between(begins, changes[1].at).Span()
	default:
		r.Probes = &scenario.Probes{}
		for _, change := range changes {
			a := scenario.Answer{From: c.between(begins, change.at).Span(), Answer: "failure"}
			if change.ready {
				a.Answer = "success"
			}
			if n := len(r.Probes.Readiness); n > 0 && r.Probes.Readiness[n-1].From.String() == a.From.String() {
				r.Probes.Readiness = r.Probes.Readiness[:n-1] // it was never given
			}
			r.Probes.Readiness = append(r.Probes.Readiness, a)
		}
	}
}

// withoutProbe notes that nothing but running makes the container ready.
func (c *container) withoutProbe(changes []readiness) {
	for _, change := range changes[1:] {
		c.notes.OfStatus(c.stage(change.at), "%s becomes %s: it has no readinessProbe, and so is ready as long as it runs", c.Name, readyWord(change.ready))
	}
	if len(changes) == 1 && !c.init {
		c.notes.OfStatus(c.stage(changes[0].at), "%s is never ready: it has no readinessProbe, and so is ready as long as it runs", c.Name)
	}
}

func readyWord(ready bool) string {
	if ready {
		return "ready"
	}
	return "unready"
}

// filePull has the image be there without a pull, unless the Stages say that it can't be had. lifepod pulls as soon as it has the pod.
func (c *container) filePull() {
	l, h := c.life, c.history
	present := h.pull == nil
	before := l.scenario.Images[c.Image]
	if before.Failures > 0 {
		return
	}
	image := scenario.Image{Present: &present, Pull: before.Pull}
	if c.ImagePullPolicy == v1.PullAlways {
		image.Pull = scenario.Fixed(0)
	}
	if f := h.pull; f != nil && c.ImagePullPolicy != v1.PullNever {
		image.Pull, image.Error, image.Failures = l.between(0, f.at).Span(), f.message, forGood
		if h.instances != nil {
			image.Failures = 1
		}
	}
	l.scenario.Images[c.Image] = image
}

// refuseCreation has the runtime refuse to create the container: for good unless it runs later.
func (c *container) refuseCreation() {
	l, h := c.life, c.history
	call := scenario.Call{Call: "CreateContainer", Container: c.Name, Fail: h.create.message}
	if h.instances != nil {
		call.Times = 1
	}
	l.scenario.Calls = append(l.scenario.Calls, call)
	if h.create.reason != "CreateContainerError" {
		l.notes.OfStatus(l.stage(h.create.at), "%s waits with the reason %s: here it is CreateContainerError", c.Name, h.create.reason)
	}
}

// ownBackOff notes that lifepod waits as long as its rules say before it tries again.
func (c *container) ownBackOff(i int) {
	l, h, name := c.life, c.history, c.Name
	from := h.instances[i].from
	switch {
	case i > 0:
		l.notes.OfStatus(l.stage(from), "%s is started again after %v: here after lifepod's own back-off", name, l.between(h.instances[i-1].to, from))
	case h.pull != nil:
		l.notes.OfStatus(l.stage(from), "%s is started %v after its image could not be had: here after lifepod's own back-off", name, l.between(h.pull.at, from))
	case h.create != nil:
		l.notes.OfStatus(l.stage(from), "%s is started %v after it could not be created: here after lifepod's own back-off", name, l.between(h.create.at, from))
	}
}

// neverRuns notes that the Stages leave a container waiting for no reason that a scenario has.
func (c *container) neverRuns() {
	l, h := c.life, c.history
	phase := l.way.Pod().Status.Phase
	if h.pull != nil || h.create != nil || phase == v1.PodFailed || phase == v1.PodSucceeded || l.way.Deleted() {
		return
	}
	l.notes.OfStatus(l.stage(len(l.way.Taken)), "%s never runs (%s): here it does, as usual", c.Name, cmp.Or(h.waits, "it has no status"))
}
