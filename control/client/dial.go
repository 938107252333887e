package client

import (
	"context"
	"fmt"
	"net"
	"os"
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/lifepod/lifepod/internal/pidfd"
)

// Dial connects to a TCP port in the pod's network, also to what listens there on the loopback address alone.
func (p *Pod) Dial(ctx context.Context, port int32) (net.Conn, error) {
	id, err := p.Process(ctx, "")
	if err != nil {
		return nil, err
	}
	network, err := os.Open(fmt.Sprintf("/proc/%d/ns/net", id.PID))
	if err != nil {
		return nil, fmt.Errorf("enter the pod's network: %w", err)
	}
	defer network.Close()
	if now, err := pidfd.Find(id.PID); err != nil || now != id { // another one may have the PID by now
		return nil, fmt.Errorf("enter the pod's network: %w", pidfd.ErrEnded)
	}
	type dialed struct {
		net.Conn
		err error
	}
	done := make(chan dialed)
	go func() {
		runtime.LockOSThread() // for good: the thread ends with this goroutine
		var d dialed
		if d.err = unix.Setns(int(network.Fd()), unix.CLONE_NEWNET); d.err == nil {
			at := func(loopback string) (net.Conn, error) {
				return new(net.Dialer).DialContext(ctx, "tcp", net.JoinHostPort(loopback, strconv.Itoa(int(port))))
			}
			if d.Conn, d.err = at("127.0.0.1"); d.err != nil {
				if conn, err := at("::1"); err == nil {
					d = dialed{Conn: conn}
				}
			}
		}
		done <- d
	}()
	d := <-done
	return d.Conn, d.err
}
