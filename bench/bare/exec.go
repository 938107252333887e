package bare

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/bench/times"
)

// Execs measures executions of true in a container, one after the other, as a probe makes them: how long each takes, and what the
// pod's shim and the processes that it has waited for take of a CPU for each.
func (r *Runtime) Execs(ctx context.Context, of *v1.Pod, count int, record times.Record) (err error) {
	p, err := r.create(ctx, of)
	if err != nil {
		return err
	}
	defer p.removeLogs()
	c, err := p.start(ctx, &of.Spec.Containers[0], 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.stop(ctx, c, *of.Spec.TerminationGracePeriodSeconds), p.remove(ctx)) }()
	pid, err := r.PID(ctx, c.id)
	if err != nil {
		return err
	}
	container, err := statOf(pid)
	if err != nil {
		return err
	}
	before, err := statOf(container.parent)
	if err != nil {
		return err
	}
	for range count {
		began := time.Now()
		answer, err := r.Client.Runtime.ExecSync(ctx, &runtimeapi.ExecSyncRequest{ContainerId: c.id, Cmd: []string{"true"}, Timeout: 10})
		if err != nil || answer.GetExitCode() != 0 {
			return fmt.Errorf("execute true: exit code %d: %w", answer.GetExitCode(), err)
		}
		record("exec", time.Since(began))
	}
	after, err := statOf(container.parent)
	record("exec, CPU", (after.cpu-before.cpu)/time.Duration(count))
	return err
}

// stat is what /proc has of a process.
type stat struct {
	parent int
	cpu    time.Duration // with that of the processes that it has waited for; to 10 ms
}

func statOf(pid int) (s stat, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return s, err
	}
	const (
		parent, times, kinds = 1, 11, 4 // which field it is after the name, which is in parentheses; how many follow each other
		tick                 = 10 * time.Millisecond
	)
	_, rest, _ := strings.Cut(string(text), ") ")
	fields := strings.Fields(rest)
	if len(fields) < times+kinds {
		return s, fmt.Errorf("read the times of process %d: %q", pid, text)
	}
	for _, field := range fields[times : times+kinds] {
		ticks, err := strconv.Atoi(field)
		if err != nil {
			return s, fmt.Errorf("read the times of process %d: %w", pid, err)
		}
		s.cpu += time.Duration(ticks) * tick
	}
	s.parent, err = strconv.Atoi(fields[parent])
	return s, err
}
