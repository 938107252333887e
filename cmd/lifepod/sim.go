package main

import (
	"github.com/spf13/cobra"

	simulation "github.com/lifepod/lifepod/sim/command"
)

// newSimCommand is "lifepod sim".
func newSimCommand(code *int) *cobra.Command {
	command := simulation.New(code)
	simulate := command.RunE
	command.RunE = func(command *cobra.Command, files []string) error {
		return interrupted(command.Context(), simulate(command, files))
	}
	return command
}
