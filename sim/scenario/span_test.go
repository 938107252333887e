package scenario

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/lifepod/lifepod/internal/assert"
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
			assert.Require(t, d >= want.min && d <= want.max, "%s gives %v", text, d)
			sum += d
		}
		mean := sum / n
		assert.True(t, (mean-want.mean).Abs() <= want.mean/50, "%s: the mean is %v, want about %v", text, mean, want.mean)
	}
}

// What is no Span has a reason, where there is more to say than that it can't be read.
func TestWhatIsNoSpan(t *testing.T) {
	const tooLong = " is longer than 87600h, the longest"
	for text, want := range map[string]string{
		"":                       "",
		"soon":                   "",
		"30":                     "30 has no unit, as 30s and 30m have",
		"+1s":                    "",
		"-1s":                    "-1s is negative",
		"200000h":                "200000h" + tooLong,
		"100000h1000000h":        "100000h1000000h" + tooLong,
		"100000000000000000000s": "100000000000000000000s" + tooLong,
		"exp()":                  "",
		"exp(3)":                 "3 has no unit, as 3s and 3m have",
		"exp(-1s)":               "-1s is negative",
		"exp(1000000h)":          "1000000h" + tooLong,
		"exp(1s,2s)":             "exp has one duration, the mean",
		"uniform(5s, 1s)":        "the bounds are reversed: 5s is longer than 1s",
		"uniform(1s)":            "uniform has two durations, the shortest and the longest",
		"uniform(1s,5)":          "5 has no unit, as 5s and 5m have",
		"weibull(1s)":            "weibull has a shape, which is a number, and a scale, which is a duration",
		"weibull(0,1s)":          "the shape 0 is no number above 0 and up to 1000",
		"weibull(-1,1s)":         "the shape -1 is no number above 0 and up to 1000",
		"weibull(NaN,1s)":        "the shape NaN is no number above 0 and up to 1000",
		"weibull(2,10)":          "10 has no unit, as 10s and 10m have",
		"gauss(1s,2s)":           "",
	} {
		s, err := ParseSpan(text)
		if err == nil {
			t.Errorf("%q is %+v", text, s)
			continue
		}
		why, is := errors.AsType[unreadable](err)
		assert.True(t, is && why.Reason() == want, "%q: %q, want %q", text, err, want)
	}
}

// Nothing that is drawn is out of the bounds.
func TestBounds(t *testing.T) {
	for text, want := range map[string][2]time.Duration{
		"30s":            {30 * time.Second, 30 * time.Second},
		"uniform(1s,5s)": {time.Second, 5 * time.Second},
		"exp(30s)":       {0, Forever},
		"weibull(2,1s)":  {0, Forever},
		"forever":        {Forever, Forever},
	} {
		s := assert.Get(ParseSpan(text)).Must(t)
		least, most := s.Bounds(0)
		assert.Equal(t, want, [2]time.Duration{least, most}, "%s", text)
		dice := rand.New(rand.NewPCG(1, 2))
		for range 1000 {
			d := s.Draw(dice, 0)
			assert.Require(t, d >= least && d <= most, "%s gives %v", text, d)
		}
	}
	least, most := (*Span)(nil).Bounds(time.Second)
	assert.True(t, least == time.Second && most == time.Second, "no Span: %v to %v, want the usual second", least, most)
}

// A Signed is as long as a Span can be, in both directions.
func TestSigned(t *testing.T) {
	for text, want := range map[string]string{
		"1h": "1h0m0s", "+1h": "1h0m0s", "-90s": "-1m30s",
		"30": "30 has no unit, as 30s and 30m have", "-200000h": "200000h is longer than 87600h, the longest", "--1h": "-1h is negative",
	} {
		var s Signed
		var got string
		if err := json.Unmarshal([]byte(`"`+text+`"`), &s); err != nil {
			got = err.Error()
		} else {
			got = time.Duration(s).String()
		}
		assert.Equal(t, want, got, "%s", text)
	}
}
