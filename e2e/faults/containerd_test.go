package faults

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/lifepod/lifepod/e2e/machine"
	"github.com/lifepod/lifepod/e2e/member"
	"github.com/lifepod/lifepod/internal/assert"
)

// TestKillContainerd kills the bundled containerd, at times with the agent: pods go
// on without it, and nothing that happened meanwhile is lost but the exit codes of
// what ended (B-RST-1, B-RST-10).
func TestKillContainerd(t *testing.T) {
	t.Parallel()
	lots := rand.New(rand.NewPCG(*seed, 2))
	n := startNode(t, member.Config{})
	ready := n.watchReady(t)
	l := n.startLoad(t, lots)
	for i := range *runtimeEnd {
		pass(lots, 3*time.Second)
		victim := n.containerd(t)
		if i%2 == 1 && !n.Process().HasEnded() {
			n.kill(t)
		}
		n.runtimeKills++
		assert.Must(t, syscall.Kill(victim, syscall.SIGKILL))
		if i%2 == 1 {
			pass(lots, 500*time.Millisecond)
			n.run(t)
		}
		eventually(t, "for another containerd", func() string {
			n.restart(t)
			if pid, err := containerdOf(n.Root); err != nil || pid == victim || machine.Ended(pid) {
				return fmt.Sprintf("the record has process %d, which was %d: %v", pid, victim, err)
			}
			return ""
		})
	}
	l.settle(t)
	t.Logf("%d kills of containerd, every other with the agent: %s; the node's Ready condition: %v", *runtimeEnd, l.figures(), ready())
}

// restart starts an agent again, as systemd would, that has given up because its
// containerd was killed before it answered.
func (n *node) restart(t *testing.T) {
	t.Helper()
	if !n.Process().HasEnded() {
		return
	}
	const why = "start containerd: it ended at once (signal: killed)"
	end := n.Process().LastLines(20)
	assert.Require(t, bytes.Contains(end, []byte(why)), "the agent has ended by itself:\n%s", end)
	n.run(t)
}

// containerd is the process of the node's containerd, which runs.
func (n *node) containerd(t *testing.T) (pid int) {
	t.Helper()
	eventually(t, "for containerd", func() string {
		var err error
		n.restart(t)
		if pid, err = containerdOf(n.Root); err != nil || machine.Ended(pid) {
			return fmt.Sprintf("process %d has ended, %v", pid, err)
		}
		return ""
	})
	return pid
}

// containerdOf reads what is recorded of a root's containerd.
func containerdOf(root machine.Root) (int, error) {
	var record struct{ PID int }
	text, err := os.ReadFile(filepath.Join(root.RunDir(), "containerd.json"))
	if err == nil {
		err = json.Unmarshal(text, &record)
	}
	return record.PID, err
}
