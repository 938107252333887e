package group

import (
	"testing"

	"pgregory.net/rapid"
)

// TestRandomWalks takes groups through random lives, in which members fail, nodes and agents
// are lost, and everybody learns of everything late, more than once, or after what came later.
// Never do two attempts run at once (B-GRP-12), no attempt falls, and as soon as nothing else
// happens all run.
func TestRandomWalks(t *testing.T) {
	t.Parallel()
	seen := map[string]int{}
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(rt, rapid.IntRange(1, 6).Draw(rt, "size"), seen)
		if rapid.Bool().Draw(rt, "has run") {
			w.comesToRun()
		}
		for range rapid.IntRange(0, 300).Draw(rt, "steps") {
			w.act()
		}
		w.comesToRun()
	})
	t.Log(seen)
	for _, what := range []string{"wait", "run", "start", "join", "leave", "failed", "sandbox lost", "pod replaced", "agent restarted without a checkpoint"} {
		if seen[what] == 0 {
			t.Errorf("no walk came by %q", what)
		}
	}
}

// comesToRun: an attempt always ends once what it needs happens.
func (w *world) comesToRun() {
	for range 20 {
		w.goesOn()
		if w.allRun() {
			return
		}
	}
	w.rt.Fatalf("the group does not come to run: %s", w)
}

// TestRandomWalksWithoutLeader does the same with groups whose members only see each other's pods, each as they were at
// some time (B-GRP-19): pods join and leave, are too many and too few. In the end all run in one attempt that has begun with
// these members and no others, so that nobody came into one that had begun (B-GRP-20).
func TestRandomWalksWithoutLeader(t *testing.T) {
	t.Parallel()
	walksOfCrowds(t, newCrowd, []string{"agent restarted without a checkpoint"})
}

// TestRandomWalksWithLeader does the same with groups whose nodes report to each other (B-GRP-24 to B-GRP-29): each may believe to
// lead, messages are lost, doubled, late or overtaken, and pods show late what their nodes report.
func TestRandomWalksWithLeader(t *testing.T) {
	t.Parallel()
	walksOfCrowds(t, newLed, []string{
		"mute", "partition", "leads no more", "agent restarted", "node forgets", "node lost", "goes by pods", "message doubled", "message lost", "verdict",
		"two lead",
	})
}

func walksOfCrowds(t *testing.T, begin func(*rapid.T, int32, map[string]int) *crowd, rare []string) {
	t.Helper()
	seen := map[string]int{}
	for range 10 { // one alone may miss what happens rarely
		rapid.Check(t, func(rt *rapid.T) {
			w := begin(rt, int32(rapid.IntRange(1, 5).Draw(rt, "size")), seen)
			if rapid.Bool().Draw(rt, "has run") {
				w.comesToRun()
			}
			for range rapid.IntRange(1, 3).Draw(rt, "times") {
				for range rapid.IntRange(0, 200).Draw(rt, "steps") {
					w.act()
				}
				w.comesToRun()
			}
		})
	}
	t.Log(seen)
	for _, what := range append(rare,
		"wait", "run", "start", "join", "leave", "failed", "sandbox lost", "pod replaced", "pod deleted", "one too many", "succeeded", "another size",
	) {
		if seen[what] == 0 {
			t.Errorf("no walk came by %q", what)
		}
	}
}

// comesToRun: an attempt always ends once what it needs happens.
func (w *crowd) comesToRun() {
	w.settled = true
	defer func() { w.settled = false }()
	for range 40 {
		w.goesOn()
		if w.runsAsOne() {
			return
		}
	}
	w.rt.Fatalf("the group does not come to run: %s", w)
}
