// Command lifepod-sim is lifepod sim alone, for systems that lifepod does not run on: macOS and
// Windows.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/lifepod/lifepod/internal/commandline"
	"github.com/lifepod/lifepod/internal/plain"
	"github.com/lifepod/lifepod/sim/command"
)

func main() {
	code := 0
	root := command.New(&code)
	root.Use = "lifepod-sim [flags] FILE…|-"
	root.SilenceUsage, root.SilenceErrors = true, true
	root.SetFlagErrorFunc(commandline.FlagError)
	if err := commandline.Error(root, root.ExecuteContext(context.Background())); err != nil {
		fmt.Fprintf(os.Stderr, "lifepod-sim: %s\n", plain.Text(err.Error()))
		code = command.ExitError
	}
	os.Exit(code)
}
