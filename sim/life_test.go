package sim_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/manifest"
	"github.com/lifepod/lifepod/sim"
	"github.com/lifepod/lifepod/sim/scenario"
	"github.com/lifepod/lifepod/sim/scenario/file"
)

const webPod = `
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  terminationGracePeriodSeconds: 5
  containers:
  - name: main
    image: example.com/web:1
    readinessProbe: {httpGet: {port: 80}, periodSeconds: 1}
    livenessProbe: {httpGet: {port: 80}, periodSeconds: 1, failureThreshold: 2}
`

// warmPod is webPod with a hook.
var warmPod = webPod + "    lifecycle: {postStart: {exec: {command: [warm-up]}}}\n"

// resizable is a pod with resources.
const resizable = `
apiVersion: v1
kind: Pod
metadata: {name: batch}
spec:
  containers:
  - name: main
    image: example.com/web:1
    resources: {requests: {cpu: 1, memory: 1Gi}, limits: {cpu: 1, memory: 1Gi}}
    resizePolicy: [{resourceName: cpu, restartPolicy: NotRequired}, {resourceName: memory, restartPolicy: RestartContainer}]
`

// live simulates the pod with a scenario.
func live(t *testing.T, pod, says string, seed uint64) *sim.Life {
	t.Helper()
	set := assert.Get(manifest.Read([]manifest.Source{{Name: "pod.yaml", Data: []byte(pod)}}, manifest.Options{Now: sim.Began})).Must(t)
	return sim.Run(set.Pod, sim.Options{Scenario: scenarioOf(t, set.Pod, says), Seed: seed})
}

func scenarioOf(t *testing.T, pod *v1.Pod, says string) *scenario.Scenario {
	t.Helper()
	s := assert.Get(file.Read(manifest.Source{Name: "s.yaml", Data: []byte("apiVersion: lifepod.dev/v1alpha1\nkind: Scenario\n" + says)}, pod)).Must(t)
	return s
}

func storyOf(l *sim.Life) string {
	var b strings.Builder
	for _, line := range l.Story {
		fmt.Fprintf(&b, "+%.3f %s\n", line.At.Seconds(), line.Report)
	}
	return b.String()
}

const again = "main started → waits for its readiness probe (1st restart)"

// What befalls a pod is told, and leaves it as Kubernetes says.
func TestFaults(t *testing.T) {
	for name, c := range map[string]struct {
		pod   string // webPod if empty
		says  string
		phase v1.PodPhase
		gone  bool
		tells []string // in this order
	}{
		"pull fails twice": {
			says:  "images: {'example.com/web:1': {failures: 2, error: no route to host, pull: 2s}}",
			phase: v1.PodRunning, tells: []string{"ErrImagePull: no route to host → try again in 10s", "main started"},
		},
		"out of memory": {
			says:  "containers: {main: {runs: [{run: 10s, oom: true}, {}]}}",
			phase: v1.PodRunning, tells: []string{"main exited 137", "OOMKilled", "restart now", again},
		},
		"signal": {
			says:  "containers: {main: {runs: [{run: 10s, signal: SIGSEGV}, {}]}}",
			phase: v1.PodRunning, tells: []string{"main exited 139"},
		},
		"liveness": {
			says:  "containers: {main: {runs: [{probes: {liveness: [{from: 10s, answer: failure}]}}, {}]}}",
			phase: v1.PodRunning, tells: []string{"liveness probe failed", "main exited 143 → restart now", again},
		},
		"probe too slow": {
			says:  "containers: {main: {runs: [{probes: {liveness: [{from: 10s, answer: success, takes: 3s}]}}, {}]}}",
			phase: v1.PodRunning, tells: []string{"liveness probe failed: no answer within 1s"},
		},
		"delete, and it ends by itself": {
			says: "events: [{at: 10s, delete: {graceSeconds: 3}}]\ncontainers: {main: {runs: [{stop: {after: 1s, exit: 0}}]}}",
			// a Pod that is deleted ends Succeeded if all of it has exited 0
			phase: v1.PodSucceeded, gone: true, tells: []string{"pod stop requested → grace 3s (the scenario)", "main exited 0 (stopped)", "pod Succeeded"},
		},
		"delete, and it has to be killed": {
			says:  "events: [{at: 10s, delete: {}}]\ncontainers: {main: {runs: [{stop: {ignore: true}}]}}",
			phase: v1.PodFailed, gone: true, tells: []string{"grace 5s", "main exited 137 (stopped, killed when its grace ran out)", "pod Failed"},
		},
		"eviction": {
			says:  "events: [{at: 10s, evict: {}}]",
			phase: v1.PodFailed, gone: true, tells: []string{"pod Failed"},
		},
		"force": {
			says:  "events: [{at: 10s, kill: {}}]\ncontainers: {main: {runs: [{stop: {ignore: true}}]}}",
			phase: v1.PodFailed, gone: true, tells: []string{"main exited 137"},
		},
		"agent crash": {
			says:  "events: [{at: 10s, agentCrash: {for: 5s}}]",
			phase: v1.PodRunning, tells: []string{"main started", "resumes where it was"},
		},
		"resize": {
			pod:   resizable,
			says:  "events: [{at: 10s, resize: {container: main, limits: {cpu: 2}, requests: {cpu: 2}}}]",
			phase: v1.PodRunning, tells: []string{"pod resize requested", "pod resize accepted", "pod resized"}, // A-ACT-15
		},
		"resize, deferred": {
			pod:   resizable,
			says:  "events: [{at: 10s, resize: {container: main, limits: {cpu: 2}, requests: {cpu: 2}, deferred: 10s}}]",
			phase: v1.PodRunning, tells: []string{"+10.000 pod resize requested", "pod resize deferred: Node didn't have enough resource", "+20.000 pod resize accepted", "pod resized"},
		},
		"resize, infeasible": {
			pod:   resizable,
			says:  "events: [{at: 10s, resize: {container: main, limits: {cpu: 2}, requests: {cpu: 2}, infeasible: too small}}]",
			phase: v1.PodRunning, tells: []string{"pod resize requested", "pod resize infeasible: too small"},
		},
		"resize by a restart": {
			pod:   resizable,
			says:  "events: [{at: 10s, resize: {container: main, limits: {memory: 2Gi}, requests: {memory: 2Gi}}}]",
			phase: v1.PodRunning, tells: []string{"pod resize requested", "main is restarted with its new resources", "main exited 143", "pod resized", "main started"},
		},
		"reboot": {
			says:  "events: [{at: 10s, reboot: {for: 20s}}]",
			phase: v1.PodRunning, tells: []string{"resumes where it was", "main exited 255", again},
		},
		"sandbox": {
			says:  "events: [{at: 10s, sandboxExit: {}}]",
			phase: v1.PodRunning, tells: []string{"sandbox", again},
		},
		"runtime crash while it is created": {
			says:  "events: [{at: 50ms, runtimeCrash: {for: 3s}}]",
			phase: v1.PodRunning, tells: []string{"pod sandbox ready", "main started"},
		},
		"create fails": {
			says:  "calls: [{call: CreateContainer, times: 1, fail: no space left on device}]",
			phase: v1.PodRunning, tells: []string{"no space left on device", "main started"},
		},
		"create of a sandbox hangs": {
			says:  "calls: [{call: CreateSandbox, times: 1, hang: true}]",
			phase: v1.PodRunning, tells: []string{"+240.001 pod Failed to create pod sandbox: context deadline exceeded → see whether it worked", "pod sandbox ready", "main started"}, // A-SBX-3
		},
		"create of a container hangs": {
			says:  "calls: [{call: CreateContainer, times: 1, hang: true}]",
			phase: v1.PodRunning, tells: []string{"+121.001 main CreateContainerError: context deadline exceeded → see whether it worked", "main started"}, // A-CST-7
		},
		"start hangs": {
			says:  "calls: [{call: StartContainer, times: 1, hang: true}]",
			phase: v1.PodRunning, tells: []string{"+121.005 main RunContainerError: context deadline exceeded → see whether it worked", "main started"}, // A-CST-7
		},
		"pull is refused": {
			says:  "calls: [{call: PullImage, times: 1, fail: the registry is down}]",
			phase: v1.PodRunning, tells: []string{"ErrImagePull: the registry is down → try again in 10s", "main started"},
		},
		"pull has no answer": {
			says:  "calls: [{call: PullImage, times: 1, hang: true}]\nfor: 3h",
			phase: v1.PodRunning, tells: []string{"context deadline exceeded", "main started"},
		},
		"probe has no answer": {
			says:  "calls: [{call: Probe, container: main, from: 10s, until: 14s, hang: true}]",
			phase: v1.PodRunning, tells: []string{"liveness probe failed: no answer within 1s", "main exited 143 → restart now", again},
		},
		"hook is refused": {
			pod:   warmPod,
			says:  "calls: [{call: RunHook, times: 1, fail: no such file}]",
			phase: v1.PodRunning, tells: []string{"postStart", "no such file", "main exited", "main started"},
		},
		"hook is slow": {
			pod:   warmPod,
			says:  "calls: [{call: RunHook, times: 1, takes: 20s}]\nevents: [{at: 10s, delete: {}}]",
			phase: v1.PodFailed, gone: true, tells: []string{"grace 5s", "pod Failed"},
		},
		"events that come twice": {
			says:  "events: [{at: 0s, doubleEvents: {for: 1h}}]\ncontainers: {main: {runs: [{run: 8s, exit: 1}, {}]}}",
			phase: v1.PodRunning, tells: []string{"main exited 1 → restart now", again},
		},
		"events in another order": {
			says:  "events: [{at: 0s, delayEvents: {for: 1h, by: 'uniform(0s,9s)'}}, {at: 0s, doubleEvents: {for: 1h}}]\ncontainers: {main: {runs: [{run: 3s, exit: 1}, {run: 3s, exit: 1}, {}]}}",
			phase: v1.PodRunning, tells: []string{"main exited 1 → restart now", again, "main exited 1 → restart in 10s", "(2nd restart)"},
		},
		"refused by the node": {
			says:  "refuse: {reason: OutOfcpu, message: no CPU is left}",
			phase: v1.PodFailed, gone: true, tells: []string{"no CPU is left", "pod Failed (OutOfcpu)"},
		},
		"restart": {
			says:  "events: [{at: 10s, restart: {container: main}}]",
			phase: v1.PodRunning, tells: []string{again},
		},
		"exit whose event is lost": {
			says:  "events: [{at: 5s, loseEvents: {for: 6s}}]\ncontainers: {main: {runs: [{run: 8s, exit: 1}, {}]}}",
			phase: v1.PodRunning, tells: []string{"main exited 1 → restart now", again},
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := live(t, cmp.Or(c.pod, webPod), c.says, 1)
			story := storyOf(l)
			assert.True(t, l.Phase() == c.phase && l.Gone == c.gone, "phase %s, gone %t; want %s, %t\n%s", l.Phase(), l.Gone, c.phase, c.gone, story)
			rest := story
			for _, want := range c.tells {
				_, after, found := strings.Cut(rest, want)
				assert.Require(t, found, "nothing tells %q after the lines before:\n%s", want, story)
				rest = after
			}
			assert.True(t, l.Phase() != v1.PodRunning || l.Ready(), "the pod is not Ready at the end:\n%s", story)
			assert.True(t, l.Doubles == nil, "two instances ran at once: %v", l.Doubles)
		})
	}
}

// An event that was lost is found by the next snapshot, and not before.
func TestLostEventIsFoundByASnapshot(t *testing.T) {
	l := live(t, webPod, "events: [{at: 5s, loseEvents: {for: 6s}}]\ncontainers: {main: {runs: [{run: 8s, exit: 1}, {}]}}", 1)
	i := slices.IndexFunc(l.Story, func(line sim.Line) bool { return line.Report.Kind == lifecycle.KindExited && line.Report.Code == 1 })
	assert.True(t, i >= 0 && l.Story[i].At >= 10*time.Second && l.Story[i].At <= 21*time.Second, "the exit after 8 s is told when?\n%s", storyOf(l))
}

// Setting the wall clock makes a restart come neither early nor late.
func TestClockDelaysNothing(t *testing.T) {
	const crash = "containers: {main: {runs: [{run: 1s, exit: 1}]}}\nfor: 10m\n"
	usual, set := live(t, webPod, crash, 1), live(t, webPod, crash+"events: [{at: 15s, setClock: {by: 2h}}, {at: 95s, setClock: {by: -26h}}]", 1)
	assert.True(t, storyOf(usual) == storyOf(set), "usual:\n%s\nwith the clock set:\n%s", storyOf(usual), storyOf(set))
	assert.True(t, usual.At.Add(-24*time.Hour).Equal(set.At), "the wall clock ends at %v, want 24 h before %v", set.At, usual.At)
}

// A crash loop has the back-off of Kubernetes: 10 s, doubled, up to 5 min.
func TestCrashLoopOfAnHour(t *testing.T) {
	l := live(t, webPod, "containers: {main: {runs: [{run: 1s, exit: 1}]}}", 1)
	var outcomes []string
	for _, line := range l.Story {
		if line.Report.Kind == lifecycle.KindExited {
			outcomes = append(outcomes, line.Report.Words().Outcome)
		}
	}
	want := []string{"restart now", "restart in 10s", "restart in 20s", "restart in 40s", "restart in 1m20s", "restart in 2m40s", "restart in 5m0s"}
	assert.True(t, len(outcomes) >= 15 && slices.Equal(outcomes[:7], want), "restarts: %q", outcomes)
	assert.Deep(t, "looked at for", time.Hour, l.Until)
}

// A pod to which nothing happens any more is not looked at to the end.
func TestQuietLifeEnds(t *testing.T) {
	l := live(t, "apiVersion: v1\nkind: Pod\nmetadata: {name: still}\nspec: {containers: [{name: main, image: example.com/web:1}]}\n", "", 1)
	assert.True(t, l.Quiet && !l.Gone && l.Until <= time.Minute && l.Ready(), "quiet %t, gone %t, after %v", l.Quiet, l.Gone, l.Until)
}

// Assertions hold or fail as what happened says.
func TestAssertions(t *testing.T) {
	l := live(t, webPod, "containers: {main: {runs: [{run: 10s, exit: 1, ready: 2s}, {}]}}", 3)
	for text, want := range map[string]string{
		"Ready within 30s":     "",
		"Ready within 1s":      "the pod was Ready after 3.047s",
		"Succeeded within 30s": "the pod never was Succeeded",
		"never Failed":         "",
		"never Running":        "the pod was Running",
		"ends Running":         "",
		"ends Succeeded":       "the pod is Running",
		"restarts(main) <= 1":  "",
		"restarts <= 0":        "restarts are 1",
		"downtime <= 1s":       "",
		"downtime <= 10ms":     "downtime is",
		"never two of main":    "",
	} {
		a := assert.Get(sim.ParseAssertion(text, l.Pod)).Must(t)
		got := fmt.Sprint(sim.Broken([]sim.Assertion{a}, l))
		assert.True(t, (got == "[]") == (want == "") && strings.Contains(got, want), "%s: %q, want %q", text, got, want)
	}
	for _, text := range []string{"Ready in 30s", "restarts(other) <= 1", "downtime <= x", "downtime <= -1s", "never two of other"} {
		_, err := sim.ParseAssertion(text, l.Pod)
		assert.True(t, err != nil, "%q is an assertion", text)
	}
}
