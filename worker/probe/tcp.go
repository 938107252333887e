package probe

import (
	"context"
	"net"
	"strconv"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/worker/endpoint"
)

// tcpSocket connects and closes (A-PROBE-11).
func (a Attempt) tcpSocket(ctx context.Context, t *v1.TCPSocketAction) Result {
	port, err := endpoint.Port(t.Port, a.Container)
	if err != nil {
		return errored(err)
	}
	host := t.Host
	if host == "" {
		host = a.PodIP
	}
	ctx, cancel := context.WithTimeout(ctx, a.timeout())
	defer cancel()
	connection, err := endpoint.Dial(ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(port)))
	if err != nil {
		return failed(err)
	}
	_ = connection.Close() // it was made, that is all that was asked
	return success("")
}
