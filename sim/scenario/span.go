package scenario

import (
	"cmp"
	"encoding/json"
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

var (
	distribution = regexp.MustCompile(`^(exp|uniform|weibull)\((.*)\)$`)
	number       = regexp.MustCompile(`^[0-9]*\.?[0-9]+$`)
	digits       = regexp.MustCompile(`[0-9]`)
)

// unreadable is why a text is no duration, in words for whoever wrote it; empty: it looks like none.
type unreadable string

func (u unreadable) Error() string { return cmp.Or(string(u), "no duration") }

// Reason is what is wrong with the text; empty if there is nothing to say but that it can't be read.
func (u unreadable) Reason() string { return string(u) }

const errSpan = unreadable("")

// ParseSpan reads one.
func ParseSpan(text string) (s Span, err error) {
	s = Span{text: text, kind: "fixed"}
	plain := strings.ReplaceAll(text, " ", "")
	parts := distribution.FindStringSubmatch(plain)
	switch {
	case plain == "forever":
		s.kind = plain
	case parts == nil:
		s.a, err = parseDuration(plain)
	default:
		s.kind = parts[1]
		err = s.read(strings.Split(parts[2], ","))
	}
	return s, err
}

// parameters are what the distributions have in brackets.
var parameters = map[string]struct {
	count int
	are   string
}{
	"exp":     {1, "exp has one duration, the mean"},
	"uniform": {2, "uniform has two durations, the shortest and the longest"},
	"weibull": {2, "weibull has a shape, which is a number, and a scale, which is a duration"},
}

// read reads the parameters of a distribution.
func (s *Span) read(list []string) (err error) {
	if want := parameters[s.kind]; len(list) != want.count {
		return unreadable(want.are)
	}
	if s.kind == "weibull" {
		if s.shape, err = strconv.ParseFloat(list[0], 64); err != nil || !(s.shape > 0 && s.shape <= 1000) {
			return unreadable("the shape " + list[0] + " is no number above 0 and up to 1000")
		}
		list = list[1:]
	}
	if s.a, err = parseDuration(list[0]); err != nil || s.kind != "uniform" {
		return err
	}
	if s.b, err = parseDuration(list[1]); err == nil && s.b < s.a {
		err = unreadable("the bounds are reversed: " + list[0] + " is longer than " + list[1])
	}
	return err
}

// parseDuration reads one that is not negative, nor longer than Forever.
func parseDuration(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	switch {
	case err == nil && d < 0:
		return 0, unreadable(text + " is negative")
	case err != nil && number.MatchString(text):
		return 0, unreadable(fmt.Sprintf("%s has no unit, as %[1]ss and %[1]sm have", text))
	case err == nil && d > Forever || err != nil && overflows(text):
		return 0, unreadable(fmt.Sprintf("%s is longer than %dh, the longest", text, Forever/time.Hour))
	case err != nil || strings.HasPrefix(text, "+"):
		return 0, errSpan
	}
	return d, nil
}

// overflows says whether a text that can't be read is a duration all the same, of too large numbers.
func overflows(text string) bool {
	_, err := time.ParseDuration(digits.ReplaceAllString(text, "0"))
	return err == nil
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

// Bounds are the shortest and the longest duration that can be drawn; usual if there is no Span.
func (s *Span) Bounds(usual time.Duration) (least, most time.Duration) {
	if s == nil {
		return usual, usual
	}
	switch s.kind {
	case "forever":
		return Forever, Forever
	case "exp", "weibull":
		return 0, Forever
	case "uniform":
		return s.a, s.b
	}
	return s.a, s.a
}

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
	amount, back := strings.CutPrefix(text, "-")
	if !back {
		amount = strings.TrimPrefix(text, "+")
	}
	d, err := parseDuration(amount)
	if back {
		d = -d
	}
	*s = Signed(d)
	return err
}

// MarshalJSON writes a Signed.
func (s Signed) MarshalJSON() ([]byte, error) { return json.Marshal(time.Duration(s).String()) }

// Want says what a Signed looks like.
func (*Signed) Want() string { return "a duration such as 1h or -30s" }
