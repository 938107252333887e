// Command lifepod-demo is lifepod with the command run alone, for `make demo`: without what
// belongs to clusters, the larger part of lifepod, it is built in a fraction of the time.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/lifepod/lifepod/bundle"
	"github.com/lifepod/lifepod/internal/commandline"
	"github.com/lifepod/lifepod/internal/plain"
	"github.com/lifepod/lifepod/run"
)

func main() {
	began := time.Now()
	log.SetOutput(plain.Writer(os.Stderr)) // of packages that log by themselves
	code := 0
	if err := newRootCommand(began, &code).ExecuteContext(context.Background()); err != nil {
		fmt.Fprintf(os.Stderr, "lifepod: %s\n", plain.Text(err.Error()))
		code = run.ExitError
	}
	os.Exit(code)
}

func newRootCommand(began time.Time, code *int) *cobra.Command {
	var root, endpoint, logLevel string
	command := &cobra.Command{
		Use: "lifepod", Short: "Run Kubernetes Pods: the demo, which has no other command than run",
		SilenceUsage: true, SilenceErrors: true,

		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return fmt.Errorf("unknown command %q: make demo has built the command run alone; make build builds bin/lifepod, which has them all", args[0])
		},
		RunE: func(command *cobra.Command, _ []string) error { return command.Help() },
	}
	command.SetFlagErrorFunc(commandline.FlagError)
	flags := command.PersistentFlags()
	flags.StringVar(&root, "root", bundle.DefaultRoot, "state `folder`; lifepods with different ones don't know of each other")
	flags.StringVar(&endpoint, "runtime-endpoint", "", "`unix:///path` of a CRI runtime to use instead of the bundled containerd")
	flags.StringVar(&logLevel, "log-level", "warn", "debug, info, warn or error: what lifepod logs of itself to stderr")
	command.AddCommand(run.NewCommand(run.Options{Began: began}, func() (run.GlobalFlags, error) {
		log, err := commandline.Logger(logLevel)
		return run.GlobalFlags{Root: root, Endpoint: endpoint, Log: log}, err
	}, code))
	return command
}
