package commandline

import (
	"errors"
	"fmt"
	"math"
	"strings"

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
