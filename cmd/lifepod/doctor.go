package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/lifepod/lifepod/doctor"
	"github.com/lifepod/lifepod/leftovers"
)

// errChecksFailed ends "lifepod doctor" with exit code 1; its findings are
// printed already.
var errChecksFailed = errors.New("some checks failed")

// doctorHost is what "lifepod doctor" needs to know from the persistent flags.
type doctorHost struct {
	// Options are read once the flags are parsed.
	Options func() (doctor.Options, error)
	// Sweep removes what a killed lifepod left below the root and returns it;
	// it refuses while a lifepod uses the root. nil: --sweep isn't offered.
	Sweep func(ctx context.Context) ([]leftovers.Leftover, error)
}

// newDoctorCommand is "lifepod doctor".
func newDoctorCommand(host doctorHost) *cobra.Command {
	var output string
	var sweep bool
	command := &cobra.Command{
		Use:   "doctor",
		Short: "Check whether this machine can run pods, and say what to do about it",
		Long: "Check whether this machine can run pods, and say what to do about each finding.\n" +
			"Exits with 1 if a check fails. Without root it says which checks it couldn't make.",
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			if output != "" && output != "json" {
				return fmt.Errorf("unknown output %q: want json", output)
			}
			if sweep {
				if err := sweepLeftovers(command, host); err != nil {
					return err
				}
			}
			return examine(command, host, output)
		},
	}
	command.Flags().StringVarP(&output, "output", "o", "", "json instead of text")
	if host.Sweep != nil {
		command.Flags().BoolVar(&sweep, "sweep", false, "first sweep up what a killed lifepod left")
	}
	return command
}

func sweepLeftovers(command *cobra.Command, host doctorHost) error {
	swept, err := host.Sweep(command.Context())
	if err != nil {
		return fmt.Errorf("sweep up leftovers: %w", err)
	}
	for _, leftover := range swept {
		fmt.Fprintln(command.ErrOrStderr(), "swept up", leftover)
	}
	return nil
}

func examine(command *cobra.Command, host doctorHost, output string) error {
	options, err := host.Options()
	if err != nil {
		return err
	}
	results := doctor.Run(command.Context(), options)
	printResults := doctor.Print
	if output == "json" {
		printResults = doctor.PrintJSON
	}
	if err := printResults(command.OutOrStdout(), results); err != nil {
		return err
	}
	if doctor.Failed(results) {
		return errChecksFailed
	}
	return nil
}
