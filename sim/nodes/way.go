package nodes

import (
	"context"
	"net"
	"sync"
	"syscall"

	"github.com/lifepod/lifepod/node/groups/transport"
)

// way is that of a machine to the others, while neither is cut off.
type way struct {
	transport.Way
	from  string
	links *sync.Map // Shared.links
}

// whole are done when the way to a machine is cut.
func (w *way) whole(to string) (list []context.Context, err error) {
	for _, name := range []string{w.from, to} {
		if link, is := w.links.Load(name); is {
			whole := link.(*Link).now()
			if list = append(list, whole); whole.Err() != nil {
				err = &net.OpError{Op: "dial", Net: "tcp", Addr: address(name), Err: syscall.ENETUNREACH}
			}
		}
	}
	return list, err
}

func (w *way) Join(ctx context.Context, to transport.Peer, request []byte) ([]byte, error) {
	if _, err := w.whole(to.Name); err != nil {
		return nil, err
	}
	return w.Way.Join(ctx, to, request)
}

func (w *way) Stream(ctx context.Context, to transport.Peer, request []byte) (transport.Stream, error) {
	whole, err := w.whole(to.Name)
	if err != nil {
		return nil, err
	}
	s, err := w.Way.Stream(ctx, to, request)
	if err != nil {
		return nil, err
	}
	c := &cutStream{Stream: s}
	for _, whole := range whole {
		c.stops = append(c.stops, context.AfterFunc(whole, func() { _ = s.Close() }))
	}
	return c, nil
}

// cutStream ends when the way is cut.
type cutStream struct {
	transport.Stream
	stops []func() bool
}

func (c *cutStream) Close() error {
	for _, stop := range c.stops {
		stop()
	}
	return c.Stream.Close()
}
