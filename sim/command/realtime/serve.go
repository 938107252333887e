// Package realtime is lifepod sim where it goes on in real time: serve, a runtime for any kubelet,
// and nodes, members of a cluster.
package realtime

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/lifepod/lifepod/internal/commandline"
	"github.com/lifepod/lifepod/sim/live"
	"github.com/lifepod/lifepod/sim/scenario/file"
)

type played struct {
	scenarios []string
	seed      uint64
}

func (p *played) flags(flags *pflag.FlagSet) {
	flags.StringArrayVar(&p.scenarios, "scenario", nil, "`FILE` that says what happens to pods; NAME=FILE to those whose annotation "+
		"lifepod.dev/scenario is NAME, "+
		"NAMESPACE/NAME=FILE to those of that name, which may have * in it")
	flags.Uint64Var(&p.seed, "seed", 1, "begin of everything that is drawn by chance: a `number`")
}

// NewServe is lifepod sim serve.
func NewServe() *cobra.Command {
	var p played
	var listen, images string
	command := &cobra.Command{
		Use:   "serve --listen unix:///PATH [flags]",
		Short: "Serve a container runtime without containers, for any kubelet",
		Long: `Serve the Container Runtime Interface at a socket until it is ended, with container
events, and without containers: any kubelet, and lifepod agent, can run thousands
of pods on it. What containers do is a scenario; without one they run until they
are stopped, because a runtime is not told which ones a pod restarts, or runs first.
Probes that are commands get the scenario's answers; nobody listens at the pods'
addresses. Docs: docs/sim.md.`,
		Args:              commandline.Arguments(0, 0),
		ValidArgsFunction: cobra.NoFileCompletions,

		RunE: func(command *cobra.Command, _ []string) error {
			scenarios, err := file.ReadScenarios(p.scenarios, live.CheckForEndpoint)
			if err != nil {
				return err
			}
			if info, err := os.Stat(images); err != nil || !info.IsDir() {
				return fmt.Errorf("--images-dir %s: want a folder, whose file system a kubelet measures", images)
			}
			runtime, err := live.NewRuntime(live.EndpointOptions{Scenarios: scenarios, Seed: p.seed, Images: images})
			if err != nil {
				return err
			}
			listener, err := live.Listen(listen)
			if err != nil {
				return err
			}
			fmt.Fprintf(command.OutOrStdout(), "a container runtime without containers is at %s\n", listen)
			return live.Serve(command.Context(), listener, runtime)
		},
	}
	flags := command.Flags()
	p.flags(flags)
	flags.StringVar(&listen, "listen", "", "`socket` to listen at, such as unix:///run/sim.sock")
	flags.StringVar(&images, "images-dir", os.TempDir(), "`folder` that images are said to be in, whose file system a kubelet measures")
	_ = command.MarkFlagRequired("listen")
	return command
}
