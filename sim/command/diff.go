package command

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/lifepod/lifepod/internal/commandline"
	"github.com/lifepod/lifepod/internal/plain"
	"github.com/lifepod/lifepod/sim"
)

// ExitDiffer is the exit code of lifepod sim diff when the lives differ.
const ExitDiffer = 1

func newDiffCommand(code *int) *cobra.Command {
	o := &options{runs: 1}
	command := &cobra.Command{
		Use:   "diff [flags] A B",
		Short: "Show what a change of a manifest changes in its pod's life",
		Long: `Simulate the pods of two manifests with the same scenario and seed, and show
what differs: milestones of the first only (-), of the second only (+), of both
at another time (~), how they end, the time to Ready, downtime and restarts, and
which assertions of the scenario hold.

Exit code: 0 they live alike; 1 they differ; 125 an error of lifepod itself.`,
		Args: commandline.Arguments(2, 2),

		ValidArgsFunction: completeFiles,

		RunE: func(command *cobra.Command, files []string) error {
			o.command, o.files = command.CommandPath(), files
			o.stdin, o.stdout, o.stderr = command.InOrStdin(), command.OutOrStdout(), command.ErrOrStderr()
			if o.output != "" && o.output != "json" {
				return fmt.Errorf("-o %s: want json", o.output)
			}
			if err := o.check(command.Flags().Changed("for")); err != nil {
				return err
			}
			var err error
			*code, err = o.diff(command.Context())
			return err
		},
	}
	o.lifeFlags(command.Flags())
	command.Flags().StringVarP(&o.output, "output", "o", "", "`format`: json")
	return command
}

// diff simulates both, and says the exit code.
func (o *options) diff(ctx context.Context) (int, error) {
	both, err := o.input().ReadEach()
	if err != nil {
		return ExitError, err
	}
	var lives []*sim.Life
	for _, in := range both {
		lives = append(lives, sim.Run(in.Set.Pod, sim.Options{Scenario: in.Scenario, Seed: o.seed, For: o.limit, GivenUp: givenUp(ctx)}))
		if ctx.Err() != nil {
			return ExitError, context.Cause(ctx)
		}
	}
	c := sim.CompareLives(lives[0], lives[1])
	c.A, c.B = o.files[0], o.files[1]
	c.Assertions(lives[0], lives[1], both[0].Asserts, both[1].Asserts)
	if err := o.writeComparison(&c); err != nil {
		return ExitError, fmt.Errorf("write standard output: %w", err)
	}
	if c.Same() {
		return 0, nil
	}
	return ExitDiffer, nil
}

func (o *options) writeComparison(c *sim.Comparison) error {
	if o.output != "json" {
		return c.Write(o.stdout)
	}
	return o.writeJSON(c)
}

func (o *options) writeJSON(value any) error {
	text, err := encode(value, "    ")
	if err != nil {
		return err
	}
	_, err = o.stdout.Write(text)
	return err
}

// encode is a value as JSON and a newline; of what is in it, <= stays legible.
func encode(value any, indent string) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", indent)
	err := e.Encode(value)
	return plain.JSON(b.Bytes()), err
}
