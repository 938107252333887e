package commandline

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/lifepod/lifepod/internal/plain"
)

// Completer completes arguments or values of flags.
type Completer = func(command *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective)

// CompleteFlags gives every flag of a command, and of those below it, a completion: by
// its name, or by what its usage calls the value. What is neither known nor a file or
// folder has none, so that no shell offers files for it.
func CompleteFlags(command *cobra.Command, byName map[string]Completer) {
	complete := func(f *pflag.Flag) {
		by := completerOf(f, byName)
		if _, given := command.GetFlagCompletionFunc(f.Name); !given && by != nil {
			_ = command.RegisterFlagCompletionFunc(f.Name, by) // it is a flag of this command
		}
	}
	command.PersistentFlags().VisitAll(complete)
	command.LocalNonPersistentFlags().VisitAll(complete)
	for _, below := range command.Commands() {
		CompleteFlags(below, byName)
	}
}

// everywhere are the values of flags that are alike in all commands.
var everywhere = map[string][]cobra.Completion{
	"color":     plain.Colouring,
	"lang":      {"en", "zh"},
	"log-level": {"debug", "info", "warn", "error"},
	"runtime":   {"runc", "crun"},
}

// completerOf is what completes a flag; nil: the shell's own, with files.
func completerOf(f *pflag.Flag, byName map[string]Completer) Completer {
	if by := byName[f.Name]; by != nil {
		return by
	}
	if list := everywhere[f.Name]; list != nil {
		return cobra.FixedCompletions(list, cobra.ShellCompDirectiveNoFileComp)
	}
	kind, usage := pflag.UnquoteUsage(f)
	switch {
	case strings.Contains(usage, "folder or file"), strings.Contains(usage, "file or folder"), kind == "file":
		return nil
	case kind == "folder":
		return func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveFilterDirs
		}
	}
	return cobra.NoFileCompletions
}
