package nodes

import (
	"math"
	"testing"

	"github.com/lifepod/lifepod/internal/assert"
)

// TestBadTime: a time that says nothing sensible is refused before anything is begun.
func TestBadTime(t *testing.T) {
	for want, o := range map[string]Time{
		"speed -1: want a number above 0, at most 1000":                {Speed: -1},
		"speed NaN: want a number above 0, at most 1000":               {Speed: math.NaN()},
		"pods can't have a speed, and a time that is moved on by hand": {Speed: 60, Manual: NewManual()},
	} {
		assert.Error(t, want, o.Check())
	}
}
