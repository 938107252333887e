package handler

import (
	"context"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/cri"
	"github.com/lifepod/lifepod/lifecycle"
)

// ProbeAttempt is what one attempt depends on.
type ProbeAttempt struct {
	Commands    *Runner // the pod's, for exec
	Probe       *v1.Probe
	Container   *v1.Container // whose ports the probe may name and whose variables its command
	ContainerID string
	PodIP       string // may be empty: then a connection fails, and so does the probe (A-PROBE-17)
}

// ProbeResult is how an attempt went.
type ProbeResult struct {
	Outcome lifecycle.ProbeOutcome
	Output  string // the remark, the failure's or the error's text; never more than 10 KiB of the container's own
	// Late is for how long lifepod did not get to run while it waited: the sum
	// of how much too late its own timers came. A timeout under which the
	// machine was starved says nothing about the container.
	Late time.Duration
}

// Make makes the attempt. It ends after the probe's timeoutSeconds, or when ctx
// does; the result means nothing then.
func (a ProbeAttempt) Make(ctx context.Context) ProbeResult {
	late := watchLateness()
	r := a.make(ctx)
	r.Late = late()
	return r
}

func (a ProbeAttempt) make(ctx context.Context) ProbeResult {
	switch p := a.Probe; {
	case p.Exec != nil:
		return a.exec(ctx, p.Exec)
	case p.HTTPGet != nil:
		return a.httpGet(ctx, p.HTTPGet)
	case p.TCPSocket != nil:
		return a.tcpSocket(ctx, p.TCPSocket)
	case p.GRPC != nil:
		return a.grpc(ctx, p.GRPC)
	}
	return errored(fmt.Errorf("missing probe handler for %s", a.Container.Name))
}

// timeout is how long the attempt may take (A-PROBE-1).
func (a ProbeAttempt) timeout() time.Duration { return cri.ProbeTimeout(a.Probe) }

func success(output string) ProbeResult {
	return ProbeResult{Outcome: lifecycle.ProbeSuccess, Output: output}
}

func failure(format string, args ...any) ProbeResult {
	return ProbeResult{Outcome: lifecycle.ProbeFailure, Output: fmt.Sprintf(format, args...)}
}

// failed is an attempt that err ended: the container's failure, unless this machine could not make it (A-PROBE-18).
func failed(err error) ProbeResult {
	if cri.Lacking(err) {
		return errored(err)
	}
	return failure("%v", err)
}

// errored is an attempt that could not be made, which says nothing about the
// container (A-PROBE-7).
func errored(err error) ProbeResult {
	return ProbeResult{Outcome: lifecycle.ProbeError, Output: err.Error()}
}
