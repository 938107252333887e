package scenario

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Span is a duration, or a distribution of durations: 30s, forever, exp(30s), which has the
// mean 30s, uniform(1s,5s), or weibull(1.5,30s), which has the shape 1.5 and the scale 30s.
type Span struct {
	text  string
	kind  string // fixed, forever, exp, uniform, weibull
	shape float64
	a, b  time.Duration
}

// Forever is what is drawn from forever. It bounds all durations: sums of them don't overflow.
const Forever = 10 * 365 * 24 * time.Hour

// Fixed is always the same duration.
func Fixed(d time.Duration) *Span { return &Span{text: d.String(), kind: "fixed", a: d} }

var distribution = regexp.MustCompile(`^(exp|uniform|weibull)\(([^(),]+)(?:,([^(),]+))?\)$`)

var errSpan = errors.New("no duration")

// ParseSpan reads one.
func ParseSpan(text string) (Span, error) {
	s := Span{text: text, kind: "fixed"}
	plain := strings.ReplaceAll(text, " ", "")
	if plain == "forever" {
		s.kind = plain
		return s, nil
	}
	parts := distribution.FindStringSubmatch(plain)
	if parts == nil {
		return s, parseInto(&s.a, plain)
	}
	s.kind = parts[1]
	switch {
	case s.kind == "exp" && parts[3] == "":
		return s, parseInto(&s.a, parts[2])
	case s.kind == "uniform":
		err := errors.Join(parseInto(&s.a, parts[2]), parseInto(&s.b, parts[3]))
		if err == nil && s.b < s.a {
			err = errSpan
		}
		return s, err
	case s.kind == "weibull":
		shape, err := strconv.ParseFloat(parts[2], 64)
		if err == nil && !(shape > 0 && shape <= 1000) {
			err = errSpan
		}
		s.shape = shape
		return s, errors.Join(err, parseInto(&s.a, parts[3]))
	}
	return s, errSpan
}

func parseInto(d *time.Duration, text string) (err error) {
	*d, err = time.ParseDuration(text)
	if err == nil && (*d < 0 || *d > Forever) {
		err = errSpan
	}
	return err
}

// UnmarshalJSON reads a Span.
func (s *Span) UnmarshalJSON(data []byte) (err error) {
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return err
	}
	*s, err = ParseSpan(text)
	return err
}

// MarshalJSON writes a Span.
func (s Span) MarshalJSON() ([]byte, error) { return json.Marshal(s.text) }

// Want says what a Span looks like.
func (*Span) Want() string {
	return "a duration such as 30s, or a distribution of them: exp(30s), uniform(1s,5s), weibull(1.5,30s); forever"
}

// String is the Span as it was written.
func (s *Span) String() string { return s.text }

// Forever says that it never passes.
func (s *Span) Forever() bool { return s != nil && s.kind == "forever" }

// Draw is one duration, in whole microseconds; usual if there is no Span.
func (s *Span) Draw(dice *rand.Rand, usual time.Duration) time.Duration {
	if s == nil {
		return usual
	}
	drawn := float64(s.a)
	switch s.kind {
	case "forever":
		return Forever
	case "exp":
		drawn *= -math.Log(1 - dice.Float64())
	case "uniform":
		drawn += dice.Float64() * float64(s.b-s.a)
	case "weibull":
		drawn *= math.Pow(-math.Log(1-dice.Float64()), 1/s.shape)
	}
	return time.Duration(min(drawn, float64(Forever))).Round(time.Microsecond)
}

// Signed is a duration that may be negative.
type Signed time.Duration

// UnmarshalJSON reads a Signed.
func (s *Signed) UnmarshalJSON(data []byte) error {
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return err
	}
	d, err := time.ParseDuration(text)
	if err == nil && d.Abs() > Forever {
		err = fmt.Errorf("%v is too long", d)
	}
	*s = Signed(d)
	return err
}

// MarshalJSON writes a Signed.
func (s Signed) MarshalJSON() ([]byte, error) { return json.Marshal(time.Duration(s).String()) }

// Want says what a Signed looks like.
func (*Signed) Want() string { return "a duration such as 1h or -30s" }
