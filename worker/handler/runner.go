package handler

import (
	"slices"
	"sync"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// Runner runs the commands of one pod's containers. Several may run at a time.
type Runner struct {
	runtime runtimeapi.RuntimeServiceClient

	mu       sync.Mutex // guards all that follows
	underWay []*running // in the order in which they began
}

// NewRunner makes a Runner on this runtime.
func NewRunner(runtime runtimeapi.RuntimeServiceClient) *Runner { return &Runner{runtime: runtime} }

// running is a command that runs.
type running struct {
	Command
	began  uint64 // as a process's start time
	ending bool   // it was given up; guarded by the Runner's mu
}

func (r *Runner) begin(c Command) *running {
	r.mu.Lock()
	defer r.mu.Unlock()
	began := &running{Command: c, began: ticksNow()}
	r.underWay = append(r.underWay, began)
	return began
}

func (r *Runner) forget(c *running) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.underWay = slices.DeleteFunc(r.underWay, func(o *running) bool { return o == c })
}

func (r *Runner) giveUp(c *running) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c.ending = true
}

// commandsBeside is what runs in the command's container: the same command, it
// included, in the order in which it began, whether all of these were given up,
// and the arguments of the others.
func (r *Runner) commandsBeside(c *running) (same []*running, allEnding bool, others [][]string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	allEnding = true
	for _, o := range r.underWay {
		switch {
		case o.ContainerID != c.ContainerID:
		case slices.Equal(o.Args, c.Args):
			same = append(same, o)
			allEnding = allEnding && o.ending
		default:
			others = append(others, o.Args)
		}
	}
	return same, allEnding, others
}
