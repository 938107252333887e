package handler

import (
	"context"
	"net"
	"strconv"

	v1 "k8s.io/api/core/v1"
)

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
