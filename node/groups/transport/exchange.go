package transport

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/lifepod/lifepod/internal/mailbox"
)

var errSilent = errors.New("nothing has come from it for too long")

// exchange sends what next has, each time that wake is sent, and hears what comes, until one of it fails, ctx ends, or the peer
// is silent, or does not read.
func (n *Node) exchange(
	ctx context.Context, stream Stream, wake mailbox.Signal, next func() []byte, hear func(frame []byte, m *message) error,
) error {
	ctx, cancel := context.WithCancelCause(ctx)
	var hearing sync.WaitGroup
	hearing.Go(func() { cancel(n.listen(stream, func() { cancel(errSilent) }, hear)) })
	cancel(n.send(ctx, stream, wake, next))
	_ = stream.Close() // nothing is lost that would not be sent again
	hearing.Wait()
	return context.Cause(ctx)
}

func (n *Node) listen(stream Stream, silent func(), hear func(frame []byte, m *message) error) error {
	timer := time.AfterFunc(patience*n.Heartbeat, silent)
	defer timer.Stop()
	for in := bufio.NewReaderSize(stream, 512); ; timer.Reset(patience * n.Heartbeat) {
		frame, err := readFrame(in)
		if err == nil && len(frame) > len(heartbeat) {
			m := &message{}
			if err = json.Unmarshal(frame[len(heartbeat):], m); err == nil {
				err = hear(frame, m)
			}
		}
		if err != nil {
			return err
		}
	}
}

func (n *Node) send(ctx context.Context, stream Stream, wake mailbox.Signal, next func() []byte) error {
	quiet := time.NewTimer(n.Heartbeat)
	defer quiet.Stop()
	for {
		frames := next()
		for len(frames) == 0 {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-wake:
				frames = next()
			case <-quiet.C:
				if frames = next(); len(frames) == 0 {
					frames = heartbeat
				}
			}
		}
		if err := stream.SetWriteDeadline(time.Now().Add(patience * n.Heartbeat)); err != nil {
			return err
		}
		if _, err := stream.Write(frames); err != nil {
			return err
		}
		quiet.Reset(n.Heartbeat)
	}
}
