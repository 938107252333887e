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

func TestReason(t *testing.T) {
	for text, want := range map[string]string{
		`RunContainerError: failed to create containerd task: failed to create shim task: OCI runtime create failed: runc create failed: unable to start container process: error during container init: exec: "/no/such": stat /no/such: no such file or directory`: `RunContainerError: exec: "/no/such": stat /no/such: no such file or directory`,
		`ErrImagePull: rpc error: code = NotFound desc = failed to pull and unpack image "r.io/absent:1": failed to resolve image: r.io/absent:1: not found → try again in 10s`:                                                                                      `ErrImagePull: failed to resolve image: r.io/absent:1: not found → try again in 10s`,
		`Internal error occurred: error executing command in container: failed to exec in container: failed to start exec "5f": OCI runtime exec failed: exec failed: cannot exec in a paused container`:                                                             `cannot exec in a paused container`,
		`worker exited 1 → restart now (restartPolicy OnFailure, 1st failure)`: `worker exited 1 → restart now (restartPolicy OnFailure, 1st failure)`,
		`exec: "bash": executable file not found in $PATH`:                     `exec: "bash": executable file not found in $PATH`,
	} {
		got := Reason(text)
		assert.True(t, got == want, "%s\ngot  %s\nwant %s", text, got, want)
	}
}

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
