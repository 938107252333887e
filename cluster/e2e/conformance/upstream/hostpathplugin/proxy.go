package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"

	"k8s.io/klog/v2"
)

// listen listens at an address: tcp://:port, or the path of a socket, which may be left from
// a process before this one.
func listen(address string) (net.Listener, error) {
	if port, isTCP := strings.CutPrefix(address, "tcp://"); isTCP {
		return net.Listen("tcp", port)
	}
	path := strings.TrimPrefix(address, "unix://")
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("remove the socket of before: %w", err)
	}
	return net.Listen("unix", path)
}

// proxy connects each connection of the first address with one of the second, until the
// context ends. Those of the second may be there before: the kernel accepts them.
func proxy(ctx context.Context, first, second string) error {
	front, err := listen(first)
	if err != nil {
		return err
	}
	back, err := listen(second)
	if err != nil {
		return errors.Join(err, front.Close())
	}
	context.AfterFunc(ctx, func() {
		_ = front.Close() // removes the socket
		_ = back.Close()
	})
	for {
		from, err := front.Accept()
		if err != nil {
			return ended(ctx, err)
		}
		to, err := back.Accept()
		if err != nil {
			_ = from.Close()
			return ended(ctx, err)
		}
		klog.V(3).Infof("connection between %s and %s", first, second)
		go join(from, to)
	}
}

func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// join copies both ways, and closes both connections when one has ended.
func join(a, b net.Conn) {
	done := make(chan error, 2)
	for _, pair := range [][2]net.Conn{{a, b}, {b, a}} {
		go func() {
			_, err := io.Copy(pair[0], pair[1])
			done <- err
		}()
	}
	err := <-done
	_, _ = a.Close(), b.Close()
	<-done
	klog.V(3).Infof("connection ended: %v", err)
}
