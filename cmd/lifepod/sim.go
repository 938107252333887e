package main

import (
	"github.com/spf13/cobra"

	"github.com/lifepod/lifepod/internal/commandline"
	"github.com/lifepod/lifepod/sim"
	simulation "github.com/lifepod/lifepod/sim/command"
	"github.com/lifepod/lifepod/sim/command/realtime"
	"github.com/lifepod/lifepod/timeline"
)

// newSimCommand is "lifepod sim". What it has of the journal is not in lifepod-sim, for systems
// that have none.
func newSimCommand(g *global, open journals, code *int) *cobra.Command {
	command := simulation.New(code)
	command.AddCommand(newSimRecordCommand(open))
	interruptible(append(command.Commands(), command)...)
	command.AddCommand(realtime.NewServe(), realtime.NewNodes(g.logger)) // a signal is how they end
	return command
}

func newSimRecordCommand(open journals) *cobra.Command {
	var wanted timeline.Wanted
	command := &cobra.Command{
		Use:   "record [flags] POD",
		Short: "Write the scenario of a life that really happened",
		Long: `Write the scenario of a pod's life as it really happened, from the journal in the
state folder: simulated with the pod's manifest, it has the same milestones. So
an incident is replayed, and varied. Of a pod that still lives it is the life so far.

  lifepod sim record web > incident.yaml
  lifepod sim web.yaml --scenario incident.yaml`,
		Args:              commandline.Arguments(1, 1),
		ValidArgsFunction: completeJournal(open, &wanted.Namespace),
		RunE: func(command *cobra.Command, args []string) error {
			wanted.Names = args
			source, err := open(command, wanted.Namespace)
			if err != nil {
				return err
			}
			pods, err := wanted.From(source)
			if err != nil {
				return err
			}
			of, err := source.Read(pods[0].UID)
			if err != nil {
				return err
			}
			text, err := sim.ScenarioYAML(of)
			if err != nil {
				return err
			}
			_, err = command.OutOrStdout().Write(text)
			return err
		},
	}
	command.Flags().StringVarP(&wanted.Namespace, "namespace", "n", "", "the pod's `namespace`, where a name is not enough")
	return command
}
