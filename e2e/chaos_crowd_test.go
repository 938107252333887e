//go:build chaos

package e2e

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"sync"
	"syscall"
	"testing"
	"time"
)

var chaosPods = flag.Int("chaos.pods", 2, "how many pods TestChaosCrowd runs at once (make chaos: 10)")

// TestChaosCrowd runs pods beside each other, of one root, which share a
// containerd, and each of a root of its own, and ends each at some moment in some
// way. None disturbs another, and nothing is left of any (B-FIN-6, B-RST-9).
func TestChaosCrowd(t *testing.T) {
	t.Parallel()
	common := newRoot(t)
	var done sync.WaitGroup
	for n := range *chaosPods {
		for i, r := range []*root{common, newRoot(t)} {
			lots := rand.New(rand.NewPCG(*chaosSeed, uint64(2*n+i)))
			done.Go(func() { inCrowd(t, r, lots, fmt.Sprintf("pod%d", n)) })
		}
	}
	done.Wait()
}

// inCrowd lets one pod live a few times.
func inCrowd(t *testing.T, r *root, lots *rand.Rand, name string) {
	manifest := pod(name, `
restartPolicy: OnFailure
terminationGracePeriodSeconds: 5
volumes: [{name: v, emptyDir: {}}]
initContainers:
`+shell("side", "trap 'exit 0' TERM; while true; do sleep 0.05; done", "restartPolicy: Always")+`
containers:
`+shell("main", "echo up; trap 'exit 0' TERM; while true; do sleep 0.05; done", mountV))
	for range 3 {
		c := r.startRun(t, manifest)
		time.Sleep(time.Duration(lots.Int64N(int64(2500 * time.Millisecond)))) // any moment is as good
		switch how := lots.IntN(4); how {
		case 0:
			_ = c.process.Process.Signal(syscall.SIGTERM)
		case 1:
			_ = c.process.Process.Kill()
			<-c.ended
			c = r.startRun(t, manifest, "--timeout", "100ms")
		case 2:
			if got := r.lifepod(t, "", "stop", name); got.code != 0 { // too early to be there
				_ = c.process.Process.Signal(syscall.SIGINT)
			}
		default:
			_ = c.process.Process.Signal(syscall.SIGINT)
			_ = c.process.Process.Signal(syscall.SIGINT)
		}
		select {
		case <-c.ended:
		case <-time.After(patience):
			t.Errorf("%s does not end:\n%s\n%s", name, tail(c.stdout.text()), tail(c.stderr.text()))
			return
		}
		switch code := c.process.ProcessState.ExitCode(); code {
		case 130, 124, -1: // interrupted, timeout, ended by a signal before it could take it
		default:
			t.Errorf("%s: exit code %d\n%s\n%s", name, code, tail(c.stdout.text()), tail(c.stderr.text()))
		}
	}
}
