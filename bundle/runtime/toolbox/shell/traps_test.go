package shell

import (
	"testing"

	"github.com/lifepod/lifepod/bundle/runtime/internal/assert"
)

func TestParseSignal(t *testing.T) {
	for in, want := range map[string]int{"TERM": 15, "SIGTERM": 15, "term": 15, "9": 9, "0": 0, "RTMIN+3": 37, "SIGRTMIN": 34, "x": -1, "65": -1, "RTMIN+99": -1} {
		got, err := parseSignal(in)
		assert.True(t, (err != nil) == (want < 0) && (err != nil || int(got) == want), "%q: %d, %v; want %d", in, got, err, want)
	}
}
