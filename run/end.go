package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/bundle"
	"github.com/lifepod/lifepod/host"
	"github.com/lifepod/lifepod/internal/plain"
	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/manifest"
	"github.com/lifepod/lifepod/unattended"
)

// End ends a pod whose lifepod run was killed, as that would have ended it, and
// returns when nothing is left of it. If ctx ends before, the pod is unattended again.
func End(ctx context.Context, pod unattended.Pod, request lifecycle.StopRequested, log *slog.Logger, stderr io.Writer) (err error) {
	paths, err := bundle.Locate(pod.Root, "")
	if err != nil {
		return err
	}
	endpoint := pod.Endpoint
	if endpoint == "unix://"+paths.Socket() {
		endpoint = ""
	}
	runtime, err := host.Open(ctx, pod.Root, endpoint, log)
	if err != nil {
		return err
	}
	defer func() {
		closing, done := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
		defer done()
		if e := runtime.Close(closing); e != nil {
			err = errors.Join(err, fmt.Errorf("stop the container runtime: %w", e))
		}
	}()
	left, err := abandoned(filepath.Join(recordsDir(runtime.Root), string(pod.UID)+".json"))
	if err == nil && left == nil {
		err = fmt.Errorf("another lifepod has just taken pod %s over: try again", pod.FullName())
	}
	if err != nil {
		return err
	}
	warn := func(format string, args ...any) {
		fmt.Fprintln(stderr, "warning: "+plain.Text(fmt.Sprintf(format, args...)))
	}
	return ending{runtime: runtime, record: left, log: log, warn: warn}.run(ctx, request)
}

// ending is the end of a pod whose lifepod run was killed.
type ending struct {
	runtime *host.Runtime
	record  *record // locked
	log     *slog.Logger
	warn    warner
}

// run goes on with the pod in order to end it. A pod with which nobody can go on is
// killed.
func (e ending) run(ctx context.Context, request lifecycle.StopRequested) error {
	pod, err := loadPod(recordsDir(e.runtime.Root), e.record.UID)
	var from lifecycle.Checkpoint
	if err == nil {
		from, err = e.record.checkpoint(pod)
	}
	if err != nil {
		defer e.record.leave()
		return sweepOne(ctx, e.runtime, e.record, e.warn)
	}
	r := &runOf{
		options: Options{Root: e.runtime.Root, Log: e.log},
		runtime: e.runtime,
		printer: newPrinter(Options{Stdout: io.Discard, Stderr: io.Discard}, pod),
		set:     &manifest.Set{Pod: pod},
		left:    &takenOver{record: e.record, from: from},
	}
	defer r.printer.close()
	if r.own, err = r.claim(); err != nil {
		return err
	}
	if err := r.end(ctx, request); err != nil {
		r.own.leave()
		return err
	}
	r.own.remove()
	return r.endStrays()
}

// end lives the rest of a pod's life.
func (r *runOf) end(ctx context.Context, request lifecycle.StopRequested) error {
	features, err := r.runtime.Features(ctx)
	if err != nil {
		return err
	}
	node, err := newNode(r.options, r.runtime, nil, objectsOf(r.set), features)
	if err != nil {
		return err
	}
	if node, err = r.nodeFor(node); err != nil {
		return err
	}
	life, err := r.newLife(node, &sink{printer: r.printer})
	if err != nil {
		return err
	}
	defer life.Close()
	life.Stop(request)
	if err = lead(ctx, node, life.Run); err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// reasonStopped is the reason of a pod's end that was asked for.
const reasonStopped = "Stopped"

// causeOf is what the exit code of a pod comes from.
func causeOf(pod *v1.Pod, end lifecycle.End, status *v1.PodStatus) line {
	l := line{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID, Container: end.Container, Reason: cmp.Or(status.Reason, string(status.Phase))}
	if end.Cause == lifecycle.Deleted {
		l.Container, l.Reason = "", reasonStopped
	}
	return l
}

// exitCode is what the pod's end amounts to: 0 if it Succeeded, else the exit
// code of the container whose failure counts. One that was ended from outside
// has the code of who asked.
func exitCode(end lifecycle.End, phase v1.PodPhase, asked int) int {
	switch {
	case end.Cause == lifecycle.Deleted:
		return asked
	case end.Cause == lifecycle.NotAdmitted:
		return ExitError
	case phase == v1.PodSucceeded:
		return 0
	case end.ExitCode != 0:
		return int(end.ExitCode)
	}
	return 1 // failed without any container's doing
}
