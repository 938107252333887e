package main

import (
	"github.com/spf13/cobra"

	simulation "github.com/lifepod/lifepod/sim/command"
)

// newSimCommand is "lifepod sim".
func newSimCommand(code *int) *cobra.Command {
	command := simulation.New(code)
	for _, c := range append(command.Commands(), command) {
		simulate := c.RunE
		c.RunE = func(c *cobra.Command, args []string) error {
			return interrupted(c.Context(), simulate(c, args))
		}
	}
	return command
}
