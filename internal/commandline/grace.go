package commandline

import (
	"errors"
	"time"

	"github.com/spf13/pflag"
)

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
