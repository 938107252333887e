package bare

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/procfs"
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
	before, err := used(container.PPID)
	if err != nil {
		return err
	}
	for range count {
		began := time.Now()
		answer, err := r.Client.Runtime.ExecSync(ctx, &runtimeapi.ExecSyncRequest{ContainerId: c.id, Cmd: []string{"true"}, Timeout: 10})
		if err != nil {
			return fmt.Errorf("execute true: %w", err)
		}
		if answer.GetExitCode() != 0 {
			return fmt.Errorf("execute true: exit code %d", answer.GetExitCode())
		}
		record("exec", time.Since(began))
	}
	after, err := used(container.PPID)
	record("exec, CPU", (after-before)/time.Duration(count))
	return err
}

// used is the CPU time of a process and of the children that it has waited for, to 10 ms.
func used(pid int) (time.Duration, error) {
	stat, err := statOf(pid)
	const tick = 10 * time.Millisecond
	return time.Duration(int(stat.UTime+stat.STime)+stat.CUTime+stat.CSTime) * tick, err //nolint:gosec // no process is that old
}

func statOf(pid int) (procfs.ProcStat, error) {
	process, err := procfs.NewProc(pid)
	if err != nil {
		return procfs.ProcStat{}, err
	}
	return process.Stat()
}
