package client

import (
	"context"
	"net"
	"strconv"
)

// Dial connects to a TCP port in the pod's network, also to what listens there on the loopback address alone.
func (p *Pod) Dial(ctx context.Context, port int32) (net.Conn, error) {
	id, err := p.Process(ctx, "")
	if err != nil {
		return nil, err
	}
	at := func(loopback string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", net.JoinHostPort(loopback, strconv.Itoa(int(port))))
	}
	var conn net.Conn
	err = id.InNetwork(func() (err error) {
		if conn, err = at("127.0.0.1"); err != nil {
			if other, otherErr := at("::1"); otherErr == nil {
				conn, err = other, nil
			}
		}
		return err
	})
	return conn, err
}
