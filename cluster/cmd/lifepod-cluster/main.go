// Command lifepod-cluster is what lifepod becomes for the commands of a cluster.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"os"
	"os/signal"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/lifepod/lifepod/bundle"
	"github.com/lifepod/lifepod/cluster/cmd/lifepod-cluster/early"
	"github.com/lifepod/lifepod/internal/commandline"
	"github.com/lifepod/lifepod/internal/plain"
)

// Exit codes beside 0: as those of lifepod's other commands.
const (
	exitError       = 125
	exitInterrupted = 130
)

func main() {
	early.Restore()
	log.SetOutput(plain.Writer(os.Stderr))
	// Never stopped: the handler goes with the process.
	ctx, _ := signal.NotifyContext(context.Background(), commandline.EndSignals()...)
	root := newRootCommand()
	os.Exit(exitCode(os.Stderr, commandline.Error(root, root.ExecuteContext(ctx))))
}

func exitCode(stderr io.Writer, err error) int {
	var code interface{ ExitStatus() int }
	switch {
	case err == nil:
		return 0
	case errors.As(err, &code):
		return code.ExitStatus()
	}
	fmt.Fprintf(stderr, "%s %s\n", plain.Bad.Paint(plain.Colours(stderr), "lifepod:"), plain.Text(err.Error()))
	if errors.Is(err, context.Canceled) {
		return exitInterrupted
	}
	return exitError
}

// global are the flags that all commands have.
type global struct {
	root     string
	logLevel string
}

func newRootCommand() *cobra.Command {
	g := &global{}
	// Packages of Kubernetes put flags of their own programs there, which cobra would
	// add to every command.
	pflag.CommandLine = pflag.NewFlagSet("lifepod", pflag.ContinueOnError)
	root := &cobra.Command{Use: "lifepod", Short: "Run Kubernetes", SilenceUsage: true, SilenceErrors: true}
	root.SetFlagErrorFunc(commandline.FlagError)
	commandline.Help(root)
	flags := root.PersistentFlags()
	commandline.ColourVar(flags)
	flags.StringVar(&g.root, "root", bundle.DefaultRoot, "state `folder`; lifepods with different ones don't know of each other")
	flags.StringVar(&g.logLevel, "log-level", "warn", "`level` of what lifepod logs of itself to stderr: debug, info, warn or error")
	root.AddCommand(newUpCommand(g), newDownCommand(g), newStatusCommand(g), newJoinCommand(g))
	addCommands(root)
	commandline.CompleteFlags(root, map[string]commandline.Completer{
		"output": cobra.FixedCompletions([]string{"json"}, cobra.ShellCompDirectiveNoFileComp),
	})
	return root
}

func (g *global) logger() (*slog.Logger, error) { return commandline.Logger(g.logLevel) }

// version is that of the lifepod which has become this program.
func version() string {
	if v := os.Getenv("LIFEPOD_VERSION"); v != "" {
		return v
	}
	return "devel"
}
