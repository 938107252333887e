package commandline

import (
	_ "embed"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lifepod/lifepod/internal/plain"
)

// Arguments wants at least and at most so many arguments; a most below 0 is any number.
func Arguments(least, most int) cobra.PositionalArgs {
	return func(command *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			return fmt.Errorf("an argument is missing: want %s", command.UseLine())
		case most >= 0 && len(args) > most:
			return fmt.Errorf("unexpected argument %q: want %s", args[most], command.UseLine())
		}
		return nil
	}
}

// Group is for a command that only has commands below it: without an argument it
// shows its help.
func Group(command *cobra.Command) *cobra.Command {
	command.Args = func(command *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		return unknownCommand(command, args[0])
	}
	command.RunE = func(command *cobra.Command, _ []string) error { return command.Help() }
	return command
}

// unknown is what cobra says of a command below the root that it does not know.
var unknown = regexp.MustCompile(`^unknown command "([^"]*)" for `)

// Error is what a root command's execution has returned, with an unknown command in
// one line.
func Error(root *cobra.Command, err error) error {
	if err == nil {
		return nil
	}
	if m := unknown.FindStringSubmatch(err.Error()); m != nil && strings.Contains(err.Error(), `for "`+root.Name()+`"`) {
		return unknownCommand(root, m[1])
	}
	return err
}

// instead has what to type in the place of commands and flags that other programs have: names, =, and the advice, in which VERB is the
// name.
//
//go:embed instead.txt
var instead string

// adviceFor is what to type instead; empty if nothing is known of a name.
func adviceFor(name string) string {
	for line := range strings.Lines(instead) {
		names, advice, _ := strings.Cut(strings.TrimSpace(line), "=")
		if slices.Contains(strings.Fields(names), name) {
			return strings.ReplaceAll(advice, "VERB", name)
		}
	}
	return ""
}

// unknownCommand says which commands may be meant.
func unknownCommand(above *cobra.Command, name string) error {
	if advice := adviceFor(name); advice != "" && !above.HasParent() && above.Name() == "lifepod" {
		return fmt.Errorf("unknown command %q: %s", name, advice)
	}
	all := names(above)
	near := slices.DeleteFunc(slices.Clone(all), func(command string) bool { return !strings.HasPrefix(command, name) })
	if len(near) == 0 { // whoever types log means logs, not top
		near = plain.NearestNames(name, all, 3)
	}
	if len(near) > 0 {
		for i := range near {
			near[i] = above.CommandPath() + " " + near[i]
		}
		return fmt.Errorf("unknown command %q: did you mean %s?", name, strings.Join(near, " or "))
	}
	if len(all) <= fewCommands {
		return fmt.Errorf("unknown command %q: want %s %s", name, above.CommandPath(), strings.Join(all, ", "))
	}
	return fmt.Errorf("unknown command %q: %s --help lists them", name, above.CommandPath())
}

// fewCommands are so many that an error can name them all.
const fewCommands = 6

func names(above *cobra.Command) (list []string) {
	for _, c := range above.Commands() {
		if c.IsAvailableCommand() && c.Name() != "completion" { // cobra's own, of a root command
			list = append(list, c.Name())
		}
	}
	slices.Sort(list)
	return list
}
