package localapi

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/time/rate"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// A-DEV-15: ten requests at once are answered, then one every 10 ms.
func TestLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limit := limited(rate.NewLimiter(perSecond, atOnce))
		answered := func() (n int) {
			for range 50 {
				answer, err := limit(t.Context(), "asked", nil, func(_ context.Context, request any) (any, error) { return request, nil })
				switch {
				case err == nil && answer == "asked":
					n++
				case status.Code(err) != codes.ResourceExhausted || status.Convert(err).Message() != "rejected by rate limit":
					t.Fatalf("A-DEV-15: error %v", err)
				}
			}
			return n
		}
		if n := answered(); n != 10 {
			t.Errorf("A-DEV-15: %d are answered at once, want 10", n)
		}
		time.Sleep(30 * time.Millisecond)
		if n := answered(); n != 3 {
			t.Errorf("A-DEV-15: %d are answered after 30 ms, want 3", n)
		}
	})
}
