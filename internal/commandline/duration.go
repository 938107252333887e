package commandline

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/spf13/pflag"
)

// WantDuration says what a duration looks like.
const WantDuration = "a time such as 30s, 5m, 1h30m, or 30 (seconds)"

// ParseDuration reads a duration with a unit, or a whole number of seconds as kubectl
// takes it.
func ParseDuration(text string) (time.Duration, error) {
	if seconds, err := strconv.ParseInt(text, 10, 64); err == nil {
		if seconds > math.MaxInt64/int64(time.Second) || seconds < math.MinInt64/int64(time.Second) {
			return 0, fmt.Errorf("%q is too long", text)
		}
		return time.Duration(seconds) * time.Second, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, errors.New("want " + WantDuration)
	}
	return d, nil
}

// DurationVar adds a flag for a duration, with a unit or in seconds.
func DurationVar(flags *pflag.FlagSet, to *time.Duration, name string, value time.Duration, usage string) {
	*to = value
	flags.Var((*duration)(to), name, usage)
}

// duration is a pflag.Value.
type duration time.Duration

// String is the duration with its units. None is 0, which is shown as no default.
func (d *duration) String() string {
	if *d == 0 {
		return "0"
	}
	return time.Duration(*d).String()
}

// Set reads one.
func (d *duration) Set(text string) error {
	parsed, err := ParseDuration(text)
	*d = duration(parsed)
	return err
}

// Type is what pflag calls it.
func (d *duration) Type() string { return "duration" }
