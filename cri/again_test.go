package cri

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/lifepod/lifepod/internal/assert"
)

// A call is made again while the runtime is away, and for no other reason.
func TestAgain(t *testing.T) {
	away := status.Error(codes.Unavailable, "connection refused")
	for _, tc := range []struct {
		name   string
		answer func(after time.Duration) error
		limit  time.Duration // of the context
		err    string
		took   time.Duration
	}{
		{"at once", func(time.Duration) error { return nil }, time.Hour, "", 0},
		{"comes back", func(after time.Duration) error {
			if after < time.Second {
				return fmt.Errorf("list: %w", away)
			}
			return nil
		}, time.Hour, "", time.Second},
		{"stays away", func(time.Duration) error { return away }, time.Hour, away.Error(), comeback + againPause},
		{"given up", func(time.Duration) error { return away }, time.Second, away.Error(), time.Second},
		{"refuses", func(time.Duration) error { return errors.New("no") }, time.Hour, "no", 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), tc.limit)
				defer cancel()
				start := time.Now()
				answer, err := Again(ctx, func(context.Context) (int, error) { return 7, tc.answer(time.Since(start)) })
				text := ""
				if err != nil {
					text = err.Error()
				}
				took := time.Since(start)
				assert.True(t, answer == 7 && text == tc.err && took == tc.took, "%d, %q after %v; want %q after %v", answer, text, took, tc.err, tc.took)
			})
		})
	}
}
