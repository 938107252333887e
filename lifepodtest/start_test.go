package lifepodtest

import (
	"math"
	"strings"
	"testing"
)

// Options that say nothing sensible of the time are refused before anything is begun.
func TestBadTime(t *testing.T) {
	for _, tc := range []struct {
		o    Options
		want string
	}{
		{Options{Speed: -1}, "speed -1: want a number above 0, at most 1000"},
		{Options{Speed: math.NaN()}, "speed NaN: want a number above 0, at most 1000"},
		{Options{Speed: 60, Manual: true}, "pods can't have a speed, and a time that is moved on by hand"},
	} {
		if err := tc.o.time().Check(); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%+v: %v, want %s", tc.o, err, tc.want)
		}
	}
}
