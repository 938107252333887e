package crifake

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/sim/scenario"
)

// Scenarios says which scenario a pod has, and what is known of images.
type Scenarios interface {
	// Of is the scenario of a pod, also with an error: its annotation names none that there is.
	Of(namespace, name string, annotations map[string]string) (*scenario.Scenario, error)
	// Image is what they say of an image.
	Image(name string) scenario.Image
}

// play has happen in a runtime what scenarios say.
type play struct {
	Scenarios
	pods  map[string]*playedPod // by UID
	pulls map[string]int        // tried so far, by image
}

// playedPod is a pod that has or had a sandbox.
type playedPod struct {
	*scenario.Scenario
	unknown error // its annotation names no scenario
	began   time.Time
	changes scenario.Changes
}

// NewPlay is a runtime in which scenarios say what happens. It keeps no record of its calls, and
// takes no faults, programs and commands.
func NewPlay(scenarios Scenarios, seed uint64) *Runtime {
	r := New()
	r.play = &play{Scenarios: scenarios, pods: map[string]*playedPod{}, pulls: map[string]int{}}
	r.dice = rand.New(rand.NewPCG(seed, seed)) //nolint:gosec // lives are to be repeated
	return r
}

// played is the pod of a sandbox; its life begins when it is asked for first; needs mu.
func (r *Runtime) played(config *runtimeapi.PodSandboxConfig) *playedPod {
	m := config.GetMetadata()
	if of := r.play.pods[m.GetUid()]; of != nil {
		return of
	}
	of := &playedPod{began: time.Now()}
	of.Scenario, of.unknown = r.play.Of(m.GetNamespace(), m.GetName(), config.GetAnnotations())
	of.changes = of.Changes(r.dice)
	r.play.pods[m.GetUid()] = of
	return of
}

// playedProgram is what a new instance does. It runs until it is stopped if the scenario does not mention it: a runtime does not know
// whether it is an init container, or when it would be restarted. Needs mu.
func (r *Runtime) playedProgram(c *container) program {
	says := r.played(c.sandbox.config).Of(c.config.GetMetadata().GetName(), int(c.config.GetMetadata().GetAttempt()))
	switch p := says.Probes; {
	case says.Ready != nil:
		c.answers = scenario.DrawAnswers(r.dice, []scenario.Answer{{Answer: "failure"}, {Answer: "success", From: says.Ready}})
	case p != nil:
		c.answers = scenario.DrawAnswers(r.dice, slices.Concat(p.Startup, p.Liveness, p.Readiness)) // one of them, says check
	}
	return program{run: says}
}

// playedCommand is what a command in an instance does: what its probes get; needs mu.
func (r *Runtime) playedCommand(c *container) command {
	says := c.answers.At(time.Since(c.startedAt))
	if says == nil {
		return command{after: scenario.UsualProbe}
	}
	out := command{after: says.Takes.Draw(r.dice, scenario.UsualProbe), out: says.Output}
	switch says.Answer {
	case "failure":
		out.code = 1
	case "error":
		out.fails = cmp.Or(says.Output, "the scenario has the command fail")
	}
	return out
}

// CallsOfScenarios are the calls that scenarios may change, by those of CRI.
var CallsOfScenarios = map[string]string{
	"RunPodSandbox": "CreateSandbox", "StopPodSandbox": "StopSandbox", "RemovePodSandbox": "RemoveSandbox", "ImageStatus": "InspectImage",
	"PullImage": "PullImage", "CreateContainer": "CreateContainer", "StartContainer": "StartContainer", "StopContainer": "StopContainer",
	"RemoveContainer": "RemoveContainer", "ExecSync": "Probe",
}

// playedCall says how long a call takes, and what goes wrong with it; needs mu.
func (r *Runtime) playedCall(c *call) (f *fault) {
	name, refusal := CallsOfScenarios[c.rpc], ""
	c.takes = cmp.Or(scenario.UsualCalls[name], c.takes)
	switch name {
	case "PullImage":
		says := r.play.Image(c.subject.image)
		r.play.pulls[c.subject.image]++
		c.takes, refusal = says.Pull.Draw(r.dice, scenario.UsualPull), says.PullError(c.subject.image, r.play.pulls[c.subject.image])
	case "Probe":
		c.takes = 0 // the command says how long it takes
	case "StartContainer":
		if of := c.subject.instance; of != nil {
			c.takes = of.run.Start.Draw(r.dice, c.takes)
		}
	}
	if c.subject.pod != nil {
		of := r.played(c.subject.pod)
		if of.unknown != nil && name == "CreateSandbox" {
			return failsWith(of.unknown.Error())
		}
		if change := of.changes.Of(name, c.subject.container, time.Since(of.began)); change != nil {
			c.takes, refusal = change.Takes.Draw(r.dice, c.takes), change.Fail
			if change.Hang {
				return &fault{verb: hang}
			}
		}
	}
	if refusal == "" {
		return nil
	}
	return failsWith(refusal)
}

func failsWith(message string) *fault {
	return &fault{verb: fail, err: status.Error(codes.Unknown, message)}
}

// endsLater has a sandbox end unasked if its scenario says so; only the pod's first one does; needs mu.
func (r *Runtime) endsLater(s *sandbox) {
	if r.play == nil || s.config.GetMetadata().GetAttempt() > 0 {
		return
	}
	for _, e := range r.played(s.config).Events {
		if e.SandboxExit != nil {
			r.later(e.At.Draw(r.dice, 0), func() { r.endSandbox(s) })
			return
		}
	}
}

// gone forgets a pod if that was its last sandbox; needs mu.
func (r *Runtime) gone(s *sandbox) {
	if uid := s.config.Metadata.Uid; r.play != nil && len(r.ofPod[uid]) == 0 {
		delete(r.play.pods, uid)
	}
}

// Running is how many containers run.
func (r *Runtime) Running() (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.containers {
		if c.state == runtimeapi.ContainerState_CONTAINER_RUNNING {
			n++
		}
	}
	return n
}
