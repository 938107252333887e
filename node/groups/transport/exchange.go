package transport

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"sync"
	"sync/atomic"
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
	var heard atomic.Bool // since the last heartbeat
	var listening sync.WaitGroup
	listening.Go(func() { cancel(listen(stream, &heard, hear)) })
	cancel(n.send(ctx, stream, &heard, wake, next))
	_ = stream.Close() // nothing is lost that would not be sent again
	listening.Wait()
	return context.Cause(ctx)
}

func listen(stream Stream, heard *atomic.Bool, hear func(frame []byte, m *message) error) error {
	for in := bufio.NewReaderSize(stream, 512); ; heard.Store(true) {
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

// send counts heartbeats and no time, so that a machine that stands still for long loses no peer.
func (n *Node) send(ctx context.Context, stream Stream, heard *atomic.Bool, wake mailbox.Signal, next func() []byte) error {
	beat := time.NewTicker(n.Heartbeat)
	defer beat.Stop()
	silent := 0
	for frames := next(); ; {
		if len(frames) > 0 {
			if err := stream.SetWriteDeadline(time.Now().Add(writing * n.Heartbeat)); err != nil {
				return err
			}
			if _, err := stream.Write(frames); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-wake:
			frames = next()
		case <-beat.C:
			if silent++; heard.Swap(false) {
				silent = 0
			}
			if silent > patience {
				return errSilent
			}
			if frames = next(); len(frames) == 0 {
				frames = heartbeat
			}
		}
	}
}
