package cri_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/lifepod/lifepod/cri"
	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/lifecycle"
)

func TestFailureOf(t *testing.T) {
	live := t.Context()
	cancelled, cancel := context.WithCancel(live)
	cancel()
	expired, cancel := context.WithDeadline(live, time.Now().Add(-time.Second))
	defer cancel()
	for _, test := range []struct {
		name string
		ctx  context.Context
		err  error
		want *lifecycle.Failure
	}{
		{"none", live, nil, nil},
		{"none, though given up", cancelled, nil, nil},
		{"refused", live, status.Error(codes.Unknown, "no"), &lifecycle.Failure{Message: "no"}},
		{"invalid", live, status.Error(codes.InvalidArgument, "no"), &lifecycle.Failure{Message: "no"}},
		{"not of gRPC", live, errors.New("no space"), &lifecycle.Failure{Message: "no space"}},
		{"given up", cancelled, status.Error(codes.Canceled, "context canceled"), &lifecycle.Failure{Class: lifecycle.Cancelled, Message: "context canceled"}},
		{"given up before gRPC", cancelled, context.Canceled, &lifecycle.Failure{Class: lifecycle.Cancelled, Message: "context canceled"}},
		{"cancelled by the runtime", live, status.Error(codes.Canceled, "shutting down"), &lifecycle.Failure{Class: lifecycle.Uncertain, Message: "shutting down"}},
		{"out of time", expired, status.Error(codes.DeadlineExceeded, "deadline"), &lifecycle.Failure{Class: lifecycle.Uncertain, Message: "deadline"}},
		{"out of time before gRPC", expired, fmt.Errorf("wait: %w", context.DeadlineExceeded), &lifecycle.Failure{Class: lifecycle.Uncertain, Message: "wait: context deadline exceeded"}},
		{"already there", live, status.Error(codes.AlreadyExists, "is there"), &lifecycle.Failure{Class: lifecycle.Uncertain, Message: "is there"}},
		{"reserved", live, status.Error(codes.Unknown, `name "a" is reserved for "b"`), &lifecycle.Failure{Class: lifecycle.Uncertain, Message: `name "a" is reserved for "b"`}},
		{"not reached", live, status.Error(codes.Unavailable, "dial unix: connection refused"), &lifecycle.Failure{Class: lifecycle.Unavailable, Message: "dial unix: connection refused"}},
		{"no socket", live, status.Error(codes.Unavailable, "dial unix: no such file or directory"), &lifecycle.Failure{Class: lifecycle.Unavailable, Message: "dial unix: no such file or directory"}},
		{"went away", live, status.Error(codes.Unavailable, "error reading from server: EOF"), &lifecycle.Failure{Class: lifecycle.Uncertain, Message: "error reading from server: EOF"}},
		{"not there", live, status.Error(codes.NotFound, "gone"), &lifecycle.Failure{Class: lifecycle.NotFound, Message: "gone"}},
		{"wrapped", live, fmt.Errorf("list sandboxes: %w", status.Error(codes.NotFound, "gone")), &lifecycle.Failure{Class: lifecycle.NotFound, Message: "list sandboxes: gone"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			assert.Deep(t, "failure", test.want, cri.FailureOf(test.ctx, test.err))
		})
	}
}
