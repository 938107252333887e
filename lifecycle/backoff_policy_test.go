package lifecycle

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lifepod/lifepod/internal/assert"
)

// A node's own maximum bounds the curve, also below its beginning (A-BO-8, A-BO-3).
func TestBackOffMaximum(t *testing.T) {
	tests := []struct {
		name   string
		policy BackoffPolicy
		want   []time.Duration // in seconds
	}{
		{"default", DefaultBackoff(), []time.Duration{10, 20, 40, 80, 160, 300, 300}},
		{"30 s", BackoffPolicy{Initial: 10 * time.Second, Max: 30 * time.Second}, []time.Duration{10, 20, 30, 30}},
		{"below the beginning", BackoffPolicy{Initial: 10 * time.Second, Max: time.Second}, []time.Duration{1, 1}},
		{"reduced", BackoffPolicy{Initial: time.Second, Max: time.Minute}, []time.Duration{1, 2, 4, 8, 16, 32, 60, 60}},
	}
	for _, test := range tests {
		var got []time.Duration
		delay := time.Duration(0)
		for range test.want {
			delay = test.policy.Next(delay)
			got = append(got, delay/time.Second)
		}
		diff := cmp.Diff(test.want, got)
		assert.True(t, diff == "", "%s: delays (-want +got):\n%s", test.name, diff)
	}
}
