package lifecycle

import (
	"testing"
	"time"
)

func TestMaxRestarts(t *testing.T) {
	for text, want := range map[string]struct {
		n       int
		window  time.Duration
		refused bool
	}{
		"0":           {n: 0},
		"10000":       {n: 10_000},
		"5 in 10m":    {n: 5, window: 10 * time.Minute},
		"5 in 1ns":    {n: 5, window: 1},
		" 5  in  1h ": {n: 5, window: time.Hour},
		"-1":          {refused: true},
		"10001":       {refused: true},
		"5 in 0s":     {refused: true},
		"5 in -1m":    {refused: true},
		"5 in 10":     {refused: true},
		"five":        {refused: true},
	} {
		t.Run(text, func(t *testing.T) {
			n, window, err := parseMaxRestarts(text)
			if n != want.n || window != want.window || (err != nil) != want.refused {
				t.Errorf("%d restarts in %v, error %v; want %d in %v, refused: %t", n, window, err, want.n, want.window, want.refused)
			}
		})
	}
}
