package faults

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/lifepod/lifepod/e2e/member"
)

// TestKillAgent kills the agent at moments that nothing marks, while pods restart,
// come and go: nobody notices (B-RST-1, B-RST-4, B-RST-6).
func TestKillAgent(t *testing.T) {
	t.Parallel()
	lots := rand.New(rand.NewPCG(*seed, 1))
	n := startNode(t, member.Config{})
	l := n.startLoad(t, lots)
	for range *kills {
		live(lots)
		n.kill(t)
		pass(lots, 500*time.Millisecond)
		n.run(t)
	}
	l.settle(t)
	t.Logf("%d kills of the agent: %s", *kills, l.figures())
}

// live lets time pass, mostly little: the younger an agent, the more there is to
// interrupt.
func live(lots *rand.Rand) {
	x := lots.Float64()
	time.Sleep(time.Duration(x * x * float64(3*time.Second))) // any moment is as good
}

// pass lets up to a time pass; it waits for nothing.
func pass(lots *rand.Rand, most time.Duration) { time.Sleep(time.Duration(lots.Int64N(int64(most)))) }
