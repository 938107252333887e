// Command lifepod-sim is lifepod sim alone, for systems that lifepod does not run on: macOS and
// Windows.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/lifepod/lifepod/internal/commandline"
	"github.com/lifepod/lifepod/internal/plain"
	"github.com/lifepod/lifepod/sim/command"
)

func main() {
	code := 0
	root := newRoot(&code)
	if err := commandline.Error(root, root.ExecuteContext(context.Background())); err != nil {
		fmt.Fprintf(os.Stderr, "lifepod-sim: %s\n", plain.Text(err.Error()))
		code = command.ExitError
	}
	os.Exit(code)
}

func newRoot(code *int) *cobra.Command {
	root := command.New(code)
	root.Use = "lifepod-sim [flags] FILE…|-"
	root.SilenceUsage, root.SilenceErrors = true, true
	root.SetFlagErrorFunc(commandline.FlagError)
	root.AddCommand(
		elsewhere("record", "it reads the journals of pods that lifepod ran"),
		elsewhere("serve", "it is a runtime for a kubelet"),
		elsewhere("nodes", "they are nodes of a cluster"),
	)
	return root
}

// elsewhere is a command of lifepod sim that this program does not have. It is there so that its
// name is not read as that of a manifest.
func elsewhere(name, because string) *cobra.Command {
	return &cobra.Command{
		Use: name, Hidden: true, DisableFlagParsing: true,

		ValidArgsFunction: cobra.NoFileCompletions,

		RunE: func(*cobra.Command, []string) error {
			return fmt.Errorf("%[1]s: only lifepod has this command, on Linux, as lifepod sim %[1]s: %[2]s; a manifest of that name is ./%[1]s", name, because)
		},
	}
}
