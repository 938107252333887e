package cri

import (
	"context"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

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
