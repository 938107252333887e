package commandline

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/lifepod/lifepod/internal/plain"
)

// FlagError says what is wrong with a flag, and what would be right. It is for a root
// command's SetFlagErrorFunc.
func FlagError(command *cobra.Command, err error) error {
	var absent *pflag.NotExistError
	var invalid *pflag.InvalidValueError
	var empty *pflag.ValueRequiredError
	switch {
	case errors.As(err, &absent):
		return unknownFlag(command, absent)
	case errors.As(err, &invalid):
		return fmt.Errorf("--%s %q: want %s", invalid.GetFlag().Name, invalid.GetValue(), wantValue(invalid))
	case errors.As(err, &empty):
		kind, _ := pflag.UnquoteUsage(empty.GetFlag())
		return fmt.Errorf("--%s: a value is missing: want --%[1]s %s", empty.GetFlag().Name, strings.ToUpper(kind))
	}
	return err
}

func unknownFlag(command *cobra.Command, absent *pflag.NotExistError) error {
	name, dashes := absent.GetSpecifiedName(), "--"
	if absent.GetSpecifiedShortnames() != "" {
		dashes = "-"
	}
	if advice := adviceFor(dashes + name); advice != "" && fits(advice, command) {
		return fmt.Errorf("unknown flag %s%s: %s", dashes, name, advice)
	}
	var known []string
	command.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			known = append(known, f.Name)
		}
	})
	if near := plain.Nearest(name, known); near != "" && dashes == "--" {
		return fmt.Errorf("unknown flag --%s: did you mean --%s?", name, near)
	}
	return fmt.Errorf("unknown flag %s%s: %s --help lists the flags", dashes, name, command.CommandPath())
}

// fits says whether advice is for a command: it names one of its flags, or is about manifests, which two commands have.
func fits(advice string, command *cobra.Command) bool {
	if meant, is := strings.CutPrefix(advice, "did you mean --"); is {
		return command.Flag(strings.FieldsFunc(meant, func(r rune) bool { return strings.ContainsRune("?= ", r) })[0]) != nil
	}
	return command.Name() == "run" || command.Name() == "sim"
}

// wantValue says what a flag takes.
func wantValue(invalid *pflag.InvalidValueError) string {
	switch invalid.GetFlag().Value.Type() {
	case "int", "int32", "int64":
		return "a whole number"
	case "uint64":
		return fmt.Sprintf("a whole number from 0 to %d", uint64(math.MaxUint64))
	case "ip":
		return "an IP address"
	case "float64":
		return "a number"
	case "bool":
		return "true or false"
	case "duration":
		return WantDuration
	case "mapStringBool":
		return "NAME=true or NAME=false, several with commas between them"
	}
	return invalid.Unwrap().Error()
}

// EndSignals are those that ask a command to end. A hangup does not under nohup, and
// neither does a quit in a shell's background. SIGABRT is left to Go: it ends the
// process with the stacks of all goroutines.
func EndSignals() []os.Signal {
	signals := []os.Signal{syscall.SIGINT, syscall.SIGTERM}
	for _, s := range []os.Signal{syscall.SIGHUP, syscall.SIGQUIT} {
		if !signal.Ignored(s) {
			signals = append(signals, s)
		}
	}
	return signals
}

// CheckOutput refuses an output format that the command does not have. One that ends in = has a value.
func CheckOutput(output string, known ...string) error {
	var forms []string
	for _, k := range known {
		value, has := strings.CutPrefix(output, k)
		if output == "" || has && (value != "") == strings.HasSuffix(k, "=") {
			return nil
		}
		forms = append(forms, strings.Replace(k, "=", "=…", 1))
	}
	return fmt.Errorf("unknown output %q: want %s", output, OneOf(forms))
}

// Logger logs to stderr what is of a level, the value of --log-level, or above.
func Logger(level string) (*slog.Logger, error) {
	var least slog.Level
	if err := least.UnmarshalText([]byte(strings.ToUpper(level))); err != nil {
		return nil, fmt.Errorf("--log-level %q: want debug, info, warn or error", level)
	}
	return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: least})), nil
}
