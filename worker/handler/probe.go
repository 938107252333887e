package handler

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/lifepod/lifepod/cri"
	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/worker/criconfig"
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

// maxOutputBytes is how much of a command's output is kept.
const maxOutputBytes = 10 << 10

// exec runs a command in the container (A-PROBE-13).
func (a ProbeAttempt) exec(ctx context.Context, e *v1.ExecAction) ProbeResult {
	output, err := a.Commands.Run(ctx, Command{
		ContainerID: a.ContainerID, Args: criconfig.ExpandLiterally(e.Command, a.Container.Env), Timeout: a.timeout(),
	})
	text := string(output[:min(len(output), maxOutputBytes)])
	if held, ok := errors.AsType[*HeldError](err); ok {
		return ended(held, text)
	}
	if err == nil {
		return success(text)
	}
	if _, exited := errors.AsType[*ExitError](err); exited {
		return failure("%s", text)
	}
	if errors.Is(err, ErrTimedOut) {
		return failure("%v", err)
	}
	return errored(errors.New(cri.Text(err)))
}

// ended is the result of a command whose output was held open: its exit code is the answer (A-PROBE-13).
func ended(held *HeldError, text string) ProbeResult {
	if held.Err == nil {
		return ProbeResult{Outcome: lifecycle.ProbeWarning, Output: held.Error()}
	}
	return failure("%s (%v)", text, held)
}

// httpGet sends a request (A-PROBE-9) and judges its answer (A-PROBE-10). What the
// server says is shown only for a redirect that isn't followed, never for a failure.
func (a ProbeAttempt) httpGet(ctx context.Context, get *v1.HTTPGetAction) ProbeResult {
	request, err := HTTPRequest(ctx, get, a.Container, a.PodIP, ProbeAgent)
	if err != nil {
		return errored(err)
	}
	answer, err := HTTPClient(a.timeout()).Do(request)
	if err != nil {
		return failed(err)
	}
	defer func() { _ = answer.Body.Close() }() // only read
	body, err := io.ReadAll(io.LimitReader(answer.Body, MaxBodyBytes))
	if err != nil {
		return failed(err)
	}
	switch code := answer.StatusCode; {
	case code < http.StatusOK || code >= http.StatusBadRequest:
		return failure("HTTP probe failed with statuscode: %d", code)
	case code >= http.StatusMultipleChoices:
		return ProbeResult{Outcome: lifecycle.ProbeWarning, Output: "Probe terminated redirects, Response body: " + string(body)}
	}
	return success(string(body))
}

// tcpSocket connects and closes (A-PROBE-11).
func (a ProbeAttempt) tcpSocket(ctx context.Context, t *v1.TCPSocketAction) ProbeResult {
	port, err := PortOf(t.Port, a.Container)
	if err != nil {
		return errored(err)
	}
	host := t.Host
	if host == "" {
		host = a.PodIP
	}
	ctx, cancel := context.WithTimeout(ctx, a.timeout())
	defer cancel()
	connection, err := Dial(ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(port)))
	if err != nil {
		return failed(err)
	}
	_ = connection.Close() // it was made, that is all that was asked
	return success("")
}

// PortOf is the number of a port that is given as a number, as the name of one of
// the container's ports, or as a number in a string (A-PROBE-9).
func PortOf(port intstr.IntOrString, container *v1.Container) (int, error) {
	number := port.IntValue()
	if port.Type == intstr.String {
		var err error
		if number, err = portNamed(port.StrVal, container); err != nil {
			return 0, err
		}
	}
	if number < 1 || number > 65535 {
		return 0, fmt.Errorf("invalid port number: %v", number)
	}
	return number, nil
}

func portNamed(name string, container *v1.Container) (int, error) {
	for _, p := range container.Ports {
		if p.Name == name {
			return int(p.ContainerPort), nil
		}
	}
	return strconv.Atoi(name)
}

// pulse is how often an attempt under way looks whether it gets to run. Most
// attempts are over before the first time.
const pulse = 50 * time.Millisecond

// watchLateness measures how much too late timers come, from now until the
// function it gives is called, which says the sum.
func watchLateness() (stop func() time.Duration) {
	over := make(chan struct{})
	sum := make(chan time.Duration)
	go func() {
		var late time.Duration
		timer := time.NewTimer(pulse)
		defer timer.Stop()
		for due := time.Now().Add(pulse); ; due = time.Now().Add(pulse) {
			select {
			case <-timer.C:
				late += time.Since(due)
				timer.Reset(pulse)
			case <-over:
				sum <- late + max(0, time.Since(due))
				return
			}
		}
	}()
	return func() time.Duration {
		close(over)
		return <-sum
	}
}

// grpc asks the gRPC health service (A-PROBE-12, KEP-2727). Connecting and asking
// share the one timeout; a refused connection is a failure at once.
func (a ProbeAttempt) grpc(ctx context.Context, g *v1.GRPCAction) ProbeResult {
	ctx, cancel := context.WithTimeout(ctx, a.timeout())
	defer cancel()
	ctx, lacks := context.WithCancelCause(ctx)
	defer lacks(nil)
	address := net.JoinHostPort(a.PodIP, strconv.Itoa(int(g.Port)))
	connection, err := grpc.NewClient("passthrough:///"+address,
		grpc.WithUserAgent(ProbeAgent),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, address string) (net.Conn, error) {
			made, err := Dial(ctx, "tcp", address)
			if cri.Lacking(err) {
				lacks(err)
			}
			return made, err
		}))
	if err != nil {
		return failure("error: failed to connect service at %q: %v", address, err)
	}
	defer func() { _ = connection.Close() }() // the answer is there, or none comes
	request := &grpc_health_v1.HealthCheckRequest{}
	if g.Service != nil {
		request.Service = *g.Service
	}
	answer, err := grpc_health_v1.NewHealthClient(connection).Check(ctx, request)
	if lack := context.Cause(ctx); cri.Lacking(lack) {
		return errored(lack)
	}
	switch status.Code(err) {
	case codes.OK:
	case codes.Unimplemented:
		return failure("error: this server does not implement the grpc health protocol (grpc.health.v1.Health): %s", status.Convert(err).Message())
	case codes.DeadlineExceeded:
		if connection.GetState() != connectivity.Ready {
			return failure("timeout: failed to connect service %q within %v: %v", address, a.timeout(), context.DeadlineExceeded)
		}
		return failure("timeout: health rpc did not complete within %v", a.timeout())
	default:
		return failure("error: health rpc probe failed: %v", err)
	}
	if answer.GetStatus() != grpc_health_v1.HealthCheckResponse_SERVING {
		return failure("service unhealthy (responded with %q)", answer.GetStatus())
	}
	return success("service healthy")
}
