package cri

import (
	"context"
	"fmt"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
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
