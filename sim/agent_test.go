package sim_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/sim"
)

// What somebody asks for while there is no agent is kept for the next one, in its order (B-WRK-10, A-ACT-15).
func TestAskedForWithoutAnAgent(t *testing.T) {
	for name, c := range map[string]struct {
		says  string
		gone  bool
		tells []string // in this order
	}{
		"delete":   {says: "delete: {}", gone: true, tells: []string{"resumes", "pod stop requested → grace 1s", "main exited 143", "pod Failed"}},
		"kill":     {says: "kill: {}", gone: true, tells: []string{"resumes", "pod stop requested", "main exited 137", "pod Failed"}},
		"restart":  {says: "restart: {container: main}", tells: []string{"resumes", "main restart requested", "main started (1st restart)"}},
		"eviction": {says: "evict: {}", gone: true, tells: []string{"resumes", "pod evicted", "pod Failed"}},
		"objects":  {says: "objectsChanged: {because: settings}", tells: []string{"resumes", "pod updated → for containers that start from now on (settings)"}},
		"resize": {
			says:  "resize: {container: main, limits: {cpu: 2}, requests: {cpu: 2}}",
			tells: []string{"resumes", "pod resize requested", "pod resize accepted", "pod resized"},
		},
		"ephemeral": {says: "addContainer: {name: dbg, image: 'example.com/toolbox:1'}", tells: []string{"resumes", "pod gets the ephemeral container dbg", "dbg started"}},
		"two": {
			says: "resize: {container: main, limits: {cpu: 2}, requests: {cpu: 2}}}, {at: 11s, delete: {graceSeconds: 600}",
			gone: true, tells: []string{"resumes", "pod resize requested", "pod stop requested → grace 9m", "main exited 143"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := live(t, resizable, "events: [{at: 5s, agentCrash: {for: 1m}}, {at: 10s, "+c.says+"}]\nfor: 10m", 1)
			story := storyOf(l)
			assert.True(t, l.Gone == c.gone, "gone %t, want %t\n%s", l.Gone, c.gone, story)
			holds(t, story, c.tells...)
		})
	}
}

// holds checks that a text has others in it, in their order.
func holds(t *testing.T, text string, wants ...string) {
	t.Helper()
	rest := text
	for _, want := range wants {
		_, after, found := strings.Cut(rest, want)
		if !found {
			t.Errorf("%q does not come after what is before it in %q:\n%s", want, wants, text)
			return
		}
		rest = after
	}
}

// A pod that is deleted while its node is off does not run again.
func TestDeletedWhileTheNodeIsOff(t *testing.T) {
	l := live(t, resizable, "events: [{at: 5s, reboot: {for: 1m}}, {at: 10s, delete: {}}]", 1)
	story := storyOf(l)
	holds(t, story, "+65.000 pod default/batch resumes", "+65.000 pod stop requested", "main exited 255", "pod Failed")
	assert.True(t, l.Gone && !strings.Contains(story, "restart)"), "gone %t:\n%s", l.Gone, story)
}

// An agent starts when nothing keeps it away any more: neither its own crash nor its node.
func TestAgentStartsWhenItCan(t *testing.T) {
	for says, want := range map[string]time.Duration{
		"{at: 5s, reboot: {for: 1m}}, {at: 10s, agentCrash: {for: 1s}}":      65 * time.Second,
		"{at: 5s, agentCrash: {for: 6s}}, {at: 10s, reboot: {for: 1m}}":      70 * time.Second,
		"{at: 5s, agentCrash: {for: 1m}}, {at: 10s, reboot: {for: 1s}}":      65 * time.Second,
		"{at: 5s, agentCrash: {for: 1m}}, {at: 10s, agentCrash: {for: 1s}}":  65 * time.Second,
		"{at: 5s, reboot: {for: 10s}}, {at: 10s, reboot: {for: 1m}}":         70 * time.Second,
		"{at: 5s, reboot: {for: 1m}}, {at: 10s, runtimeCrash: {for: 1s}}":    65 * time.Second,
		"{at: 5s, agentCrash: {for: 0s}}":                                    5 * time.Second,
		"{at: 5s, agentCrash: {for: 5s}}, {at: 10s, agentCrash: {for: 10s}}": 20 * time.Second,
	} {
		l := live(t, resizable, "events: ["+says+"]\nfor: 5m", 1)
		var resumed []time.Duration
		for _, line := range l.Story {
			if line.Report.Kind == "resumes" {
				resumed = append(resumed, line.At)
			}
		}
		assert.True(t, slices.Equal(resumed, []time.Duration{want}), "%s: resumed at %v, want %v", says, resumed, want)
		assert.True(t, l.Phase() == v1.PodRunning && l.Ready() && l.Doubles == nil,
			"%s: %s, ready %t, two at once %v\n%s", says, l.Phase(), l.Ready(), l.Doubles, storyOf(l))
	}
}

// The runtime can't be reached on a node that is off, whatever happens to the runtime.
func TestRuntimeOfANodeThatIsOff(t *testing.T) {
	l := live(t, resizable, "events: [{at: 5s, runtimeCrash: {for: 90s}}, {at: 10s, reboot: {for: 1m}}, {at: 20s, sandboxExit: {}}]\nfor: 5m", 1)
	holds(t, storyOf(l), "+70.000 pod default/batch resumes", "+95.", "main exited 255", "main started (1st restart)")
}

// Setting the wall clock while there is no agent makes a restart come neither early nor late.
func TestClockIsSetWithoutAnAgent(t *testing.T) {
	const crash = "containers: {main: {runs: [{run: 1s, exit: 1}]}}\nfor: 10m\nevents: [{at: 16s, agentCrash: {for: 5s}}"
	usual, set := live(t, webPod, crash+"]", 1), live(t, webPod, crash+", {at: 15s, setClock: {by: 5m}}, {at: 18s, setClock: {by: -2h}}]", 1)
	assert.True(t, storyOf(usual) == storyOf(set), "usual:\n%s\nwith the clock set:\n%s", storyOf(usual), storyOf(set))
	entries := func(says string) (at []time.Time) {
		for _, e := range sim.Run(usual.Pod, sim.Options{Scenario: scenarioOf(t, usual.Pod, says), Seed: 1, Journal: true}).Entries {
			at = append(at, e.At)
		}
		return at
	}
	before := sim.Began
	for _, at := range entries(crash + ", {at: 50ms, setClock: {by: 1h}}, {at: 2s, setClock: {by: -2h}}]") {
		assert.Require(t, !at.Before(before) && !at.After(sim.Began.Add(10*time.Minute)),
			"an entry of the journal is of %v, after one of %v", at, before)
		before = at
	}
}
