package commandline

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/spf13/pflag"

	"github.com/lifepod/lifepod/internal/plain"
	"github.com/lifepod/lifepod/internal/sentence"
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

// ColourVar adds --color, which is for the whole process.
func ColourVar(flags *pflag.FlagSet) {
	flags.Var(plain.ColourFlag{}, "color", "`when` there are colours: auto, on a terminal unless NO_COLOR is set; always; never")
	flags.Lookup("color").NoOptDefVal = "always"
}

// LanguageVar adds --lang.
func LanguageVar(flags *pflag.FlagSet, l *sentence.Language) {
	*l = sentence.OfEnvironment()
	flags.Var(l, "lang", "`language` of what people read: en or zh (default: that of LC_ALL, LC_MESSAGES or LANG)")
	flags.Lookup("lang").DefValue = ""
}

// GraceVar adds --grace, also by the name that kubectl has for it. nil is the pods' own.
func GraceVar(flags *pflag.FlagSet, to **time.Duration) {
	flags.Var(grace{to}, "grace", "`time` to end in, such as 10s or 10 (seconds), in place of the pod's own; 0: kill at once")
	flags.SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		if name == "grace-period" {
			name = "grace"
		}
		return pflag.NormalizedName(name)
	})
}

// grace is a pflag.Value.
type grace struct{ to **time.Duration }

func (grace) String() string { return "" }
func (grace) Type() string   { return "duration" }

// Set reads one.
func (g grace) Set(text string) error {
	d, err := ParseDuration(text)
	if err == nil && d < 0 {
		err = errors.New("want " + WantDuration)
	}
	*g.to = &d
	return err
}
