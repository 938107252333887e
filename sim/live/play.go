package live

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/utils/ptr"

	"github.com/lifepod/lifepod/cri/crifake"
	"github.com/lifepod/lifepod/sim/scenario"
	"github.com/lifepod/lifepod/sim/scenario/file"
)

// play has happen in a runtime what scenarios say. The runtime calls it one call at a time.
type play struct {
	scenarios *file.Scenarios
	dice      *rand.Rand
	pods      map[string]*servedPod // by UID
	pulls     map[string]int        // tried so far, by image
}

// servedPod is a pod that has or had a sandbox.
type servedPod struct {
	scenario *scenario.Scenario
	unknown  error // its annotation names no scenario
	began    time.Time
	changes  scenario.Changes
	runs     map[string]*run
}

// run is the newest instance of a container.
type run struct {
	says    scenario.Run
	attempt uint32
	answers scenario.Answers // of commands
}

func newPlay(o EndpointOptions) *play {
	return &play{
		scenarios: o.Scenarios, dice: rand.New(rand.NewPCG(o.Seed, o.Seed)), //nolint:gosec // lives are to be repeated
		pods: map[string]*servedPod{}, pulls: map[string]int{},
	}
}

// podOf is the pod of a sandbox; its life begins when it is asked for first.
func (p *play) podOf(config *runtimeapi.PodSandboxConfig) *servedPod {
	m := config.GetMetadata()
	if of := p.pods[m.GetUid()]; of != nil {
		return of
	}
	of := &servedPod{began: time.Now(), runs: map[string]*run{}}
	of.scenario, of.unknown = p.scenarios.Of(m.GetNamespace(), m.GetName(), config.GetAnnotations())
	of.changes = of.scenario.Changes(p.dice)
	p.pods[m.GetUid()] = of
	return of
}

func (p *play) Gone(uid string) { delete(p.pods, uid) }

// Program is what a new instance does: without a word of the scenario it runs until it is
// stopped, because a runtime is not told which containers a pod restarts, or runs first.
func (p *play) Program(config *runtimeapi.PodSandboxConfig, container *runtimeapi.ContainerConfig) (crifake.Program, error) {
	of := p.podOf(config)
	name, attempt := container.GetMetadata().GetName(), container.GetMetadata().GetAttempt()
	says := of.scenario.Of(name, int(attempt))
	of.runs[name] = &run{says: says, attempt: attempt, answers: p.answersOf(&says)}
	program := crifake.Program{TermCode: 143, TermTakes: scenario.UsualStop, StartError: says.StartError, Message: says.Message, OOM: says.OOM}
	if !says.Run.Forever() && (says.Run != nil || says.Exit != nil || says.Signal != "" || says.OOM) {
		program.Exits, program.After = true, says.Run.Draw(p.dice, scenario.UsualRun)
		program.Code, _ = says.End()
	}
	if stop := says.Stop; stop != nil {
		program.IgnoreTERM = stop.Ignore || stop.After.Forever()
		program.TermTakes = stop.After.Draw(p.dice, scenario.UsualStop)
		program.TermCode = ptr.Deref(stop.Exit, program.TermCode)
	}
	for _, o := range says.Output {
		program.Output = append(program.Output, crifake.Line{At: o.At.Draw(p.dice, 0), Stream: cmp.Or(o.Stream, "stdout"), Text: o.Text})
	}
	return program, nil
}

// answersOf are what commands in an instance get: those of its probes.
func (p *play) answersOf(r *scenario.Run) scenario.Answers {
	if r.Ready != nil {
		return scenario.DrawAnswers(p.dice, []scenario.Answer{{Answer: "failure"}, {Answer: "success", From: r.Ready}})
	}
	if r.Probes == nil {
		return nil
	}
	return scenario.DrawAnswers(p.dice, slices.Concat(r.Probes.Startup, r.Probes.Liveness, r.Probes.Readiness)) // one of them, says check
}

// Executed is what a command gets: the last answer whose time has come, else it succeeds.
func (p *play) Executed(config *runtimeapi.PodSandboxConfig, container *runtimeapi.ContainerConfig, since time.Duration) crifake.Executed {
	out := crifake.Executed{Takes: scenario.UsualProbe}
	of := p.podOf(config).runs[container.GetMetadata().GetName()]
	if of == nil || of.attempt != container.GetMetadata().GetAttempt() {
		return out
	}
	says := of.answers.At(since)
	if says == nil {
		return out
	}
	out = crifake.Executed{Takes: says.Takes.Draw(p.dice, scenario.UsualProbe), Output: says.Output}
	switch says.Answer {
	case "failure":
		out.Code = 1
	case "error":
		out.Fail = cmp.Or(says.Output, "the scenario has the command fail")
	}
	return out
}

// calls are those of a scenario, by those of CRI.
var calls = map[string]string{
	"RunPodSandbox": "CreateSandbox", "StopPodSandbox": "StopSandbox", "RemovePodSandbox": "RemoveSandbox", "ImageStatus": "InspectImage",
	"PullImage": "PullImage", "CreateContainer": "CreateContainer", "StartContainer": "StartContainer", "StopContainer": "StopContainer",
	"RemoveContainer": "RemoveContainer", "ExecSync": "Probe",
}

// Call is how a call goes: the first change of the scenario that fits counts.
func (p *play) Call(what crifake.Doing) crifake.Conduct {
	name := calls[what.RPC]
	usual := crifake.Conduct{Takes: cmp.Or(scenario.UsualCalls[name], what.Usual)}
	switch name {
	case "PullImage":
		usual = p.pull(what.Image)
	case "Probe":
		usual.Takes = 0 // the command says how long it takes
	}
	if what.Pod == nil {
		return usual
	}
	of := p.podOf(what.Pod)
	if of.unknown != nil && name == "CreateSandbox" {
		return crifake.Conduct{Fail: of.unknown.Error()}
	}
	container := what.Container.GetMetadata().GetName()
	if name == "StartContainer" && of.runs[container] != nil {
		usual.Takes = of.runs[container].says.Start.Draw(p.dice, usual.Takes)
	}
	if c := of.changes.Of(name, container, time.Since(of.began)); c != nil {
		return crifake.Conduct{Takes: c.Takes.Draw(p.dice, usual.Takes), Fail: c.Fail, Hang: c.Hang}
	}
	return usual
}

// image is what the scenarios say of an image: the first one that does counts, since the images
// are the node's.
func (p *play) image(name string) scenario.Image {
	for _, named := range p.scenarios.All() {
		if says, is := named.Scenario.Image(name); is {
			return says
		}
	}
	return scenario.Image{}
}

// pull is how the next pull of an image goes.
func (p *play) pull(name string) crifake.Conduct {
	says := p.image(name)
	p.pulls[name]++
	return crifake.Conduct{Takes: says.Pull.Draw(p.dice, scenario.UsualPull), Fail: says.PullError(name, p.pulls[name])}
}

// Image is whether an image needs no pull, and its size.
func (p *play) Image(name string) (present bool, bytes uint64) {
	says := p.image(name)
	return says.IsPresent(name), uint64(max(1, ptr.Deref(says.Bytes, scenario.UsualBytes))) // one without a size is taken for damaged
}

// SandboxEnds is when the scenario has a sandbox end; only the pod's first one does.
func (p *play) SandboxEnds(config *runtimeapi.PodSandboxConfig) (after time.Duration, ends bool) {
	if config.GetMetadata().GetAttempt() > 0 {
		return 0, false
	}
	for _, e := range p.podOf(config).scenario.Events {
		if e.SandboxExit != nil {
			return e.At.Draw(p.dice, 0), true
		}
	}
	return 0, false
}
