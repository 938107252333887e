package scenario

import (
	"math/rand/v2"
	"testing"
	"time"
)

func TestSpansAreDistributedAsTheySay(t *testing.T) {
	for text, want := range map[string]struct{ min, mean, max time.Duration }{
		"30s":              {30 * time.Second, 30 * time.Second, 30 * time.Second},
		"exp(30s)":         {0, 30 * time.Second, Forever},
		"uniform(1s, 5s)":  {time.Second, 3 * time.Second, 5 * time.Second},
		"weibull(1, 10s)":  {0, 10 * time.Second, Forever}, // of shape 1 it is exponential
		"weibull(2,10s)":   {0, 8862 * time.Millisecond, Forever},
		"weibull(0.5,10s)": {0, 20 * time.Second, Forever},
	} {
		s, err := ParseSpan(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		dice := rand.New(rand.NewPCG(1, 2))
		const n = 200_000
		var sum time.Duration
		for range n {
			d := s.Draw(dice, 0)
			if d < want.min || d > want.max {
				t.Fatalf("%s gives %v", text, d)
			}
			sum += d
		}
		if mean := sum / n; (mean - want.mean).Abs() > want.mean/50 {
			t.Errorf("%s: the mean is %v, want about %v", text, mean, want.mean)
		}
	}
}

func TestWhatIsNoSpan(t *testing.T) {
	for _, text := range []string{"", "30", "-1s", "exp()", "exp(1s,2s)", "uniform(5s,1s)", "uniform(1s)", "weibull(0,1s)", "weibull(-1,1s)", "weibull(NaN,1s)", "gauss(1s,2s)", "exp(-1s)", "100000h1000000h", "200000h"} {
		if s, err := ParseSpan(text); err == nil {
			t.Errorf("%q is %+v", text, s)
		}
	}
}
