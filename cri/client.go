package cri

import (
	"context"
	"fmt"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/lifecycle"
)

// maxMessageBytes is the largest answer that is taken, as the kubelet's.
const maxMessageBytes = 16 << 20

// apiVersion is what every runtime of CRI v1 says, and Kubernetes wants (A-CRI-13).
const apiVersion = "0.1.0"

// Client is a connection to one runtime. It reconnects by itself.
type Client struct {
	Runtime runtimeapi.RuntimeServiceClient
	Images  runtimeapi.ImageServiceClient
	Conn    *grpc.ClientConn
}

// Dial prepares a connection to an endpoint of the form unix:///path; nothing
// is sent before the first call.
func Dial(endpoint string, more ...grpc.DialOption) (*Client, error) {
	if !strings.HasPrefix(endpoint, "unix://") || len(endpoint) == len("unix://") {
		return nil, fmt.Errorf("runtime endpoint %q: want unix:///path/to/socket", endpoint)
	}
	reconnect := backoff.DefaultConfig
	reconnect.BaseDelay, reconnect.MaxDelay = reconnectMin, reconnectMax
	conn, err := grpc.NewClient(endpoint, append([]grpc.DialOption{
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: reconnect, MinConnectTimeout: reconnectMax}),
		grpc.WithAuthority("localhost"),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessageBytes)),
	}, more...)...)
	if err != nil {
		return nil, fmt.Errorf("runtime endpoint %q: %w", endpoint, err)
	}
	return &Client{
		Runtime: runtimeapi.NewRuntimeServiceClient(conn),
		Images:  runtimeapi.NewImageServiceClient(conn),
		Conn:    conn,
	}, nil
}

// Close ends the connection; calls under way fail.
func (c *Client) Close() error { return c.Conn.Close() }

// Check asks the runtime who it is and whether it is ready. The error says what
// is wrong in one line.
func (c *Client) Check(ctx context.Context) (name string, err error) {
	version, err := c.Runtime.Version(ctx, &runtimeapi.VersionRequest{})
	if err != nil {
		return "", fmt.Errorf("no container runtime answers there: %s", Text(err))
	}
	if version.Version != apiVersion {
		return "", fmt.Errorf("the container runtime %s speaks CRI API version %q: want %s", version.RuntimeName, version.Version, apiVersion)
	}
	status, err := c.Runtime.Status(ctx, &runtimeapi.StatusRequest{})
	if err != nil {
		return "", fmt.Errorf("ask the container runtime for its status: %s", Text(err))
	}
	for _, condition := range status.GetStatus().GetConditions() {
		needed := condition.Type == runtimeapi.RuntimeReady || condition.Type == runtimeapi.NetworkReady
		if needed && !condition.GetStatus() {
			return "", fmt.Errorf("the container runtime %s says %s is not true: %s: %s",
				version.RuntimeName, condition.Type, condition.Reason, condition.Message)
		}
	}
	return version.RuntimeName, nil
}

// Timeouts bound the calls of the runtime. What a call that ran out of time left
// behind is looked for and adopted.
type Timeouts struct {
	Sandbox time.Duration // RunPodSandbox, which may pull the pause image and set up networks
	Call    time.Duration // every other call, on top of a stop's grace (B-SIG-5)
	Pull    time.Duration // one image
	Relist  time.Duration // between two snapshots of a pod
}

// DefaultTimeouts are the kubelet's, with a relist that is only a safety net.
func DefaultTimeouts() Timeouts {
	return Timeouts{Sandbox: 4 * time.Minute, Call: 2 * time.Minute, Pull: 2 * time.Hour, Relist: 10 * time.Second}
}

// UnchangedEnough is after how many snapshots without a change further ones are skipped
// until something changes. It is more than two, because the machine draws some
// conclusions from two snapshots in a row.
const UnchangedEnough = 3

const (
	// claims is for all drivers of a pod's claims, one after the other; each has a
	// deadline of its own.
	claims = 10 * time.Minute
	// none is for what keeps its own.
	none = 365 * 24 * time.Hour
)

// Of is how long an effect may take. An attempt of a probe has its own timeout besides.
func (t Timeouts) Of(effect lifecycle.Effect) time.Duration {
	switch e := effect.(type) {
	case lifecycle.PrepareClaims, lifecycle.UnprepareClaims:
		return claims
	case lifecycle.CreateSandbox:
		return t.Sandbox
	case lifecycle.PullImage:
		return t.Pull
	case lifecycle.StopContainer:
		return t.Call + time.Duration(e.TimeoutSeconds)*time.Second
	case lifecycle.RunHook:
		return none
	case lifecycle.Observe:
		if e.ID == 0 { // the next one would be due
			return t.Relist
		}
	}
	return t.Call
}

// ProbeTimeout is how long one attempt of a probe may take (A-PROBE-1).
func ProbeTimeout(p *v1.Probe) time.Duration {
	return time.Duration(max(p.TimeoutSeconds, 1)) * time.Second
}

const (
	comeback   = 30 * time.Second // for a runtime that has died to be started again
	againPause = 50 * time.Millisecond
)

// Again makes a call that changes nothing, and makes it again while the runtime is
// away: it may have died a moment ago, and be on its way back. It is for those who
// can't go on without the answer.
func Again[T any](ctx context.Context, call func(context.Context) (T, error)) (T, error) {
	for giveUpAt := time.Now().Add(comeback); ; {
		answer, err := call(ctx)
		if status.Code(err) != codes.Unavailable || time.Now().After(giveUpAt) {
			return answer, err
		}
		select {
		case <-ctx.Done():
			return answer, err
		case <-time.After(againPause):
		}
	}
}
