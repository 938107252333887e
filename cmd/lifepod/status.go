package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/lifepod/lifepod/control/show"
	"github.com/lifepod/lifepod/internal/commandline"
)

func newStatusCommand(g *global) *cobra.Command {
	var on *onPod
	var output string
	command := &cobra.Command{
		Use:   "status [flags] [POD]",
		Short: "Show a pod: phase, conditions, containers, events; without a pod the cluster of `lifepod up`",
		Long: `Show a pod: phase, address, conditions, containers, recent events.

With -o yaml or -o json it is the v1.Pod: the spec as it was accepted, with all
defaults, and the current status.

Without a pod it shows the cluster that lifepod up runs, with -o json for programs.`,
		Args: commandline.Arguments(0, 1),
		RunE: func(command *cobra.Command, args []string) error {
			if err := checkOutput(output); err != nil {
				return err
			}
			if len(args) == 0 {
				return becomeCluster(os.Args[1:])
			}
			ctx := command.Context()
			pod, err := on.find(ctx, args[0])
			if err != nil {
				return interrupted(ctx, err)
			}
			if output != "" {
				return printObject(command.OutOrStdout(), pod.Pod, output)
			}
			events, err := pod.Events(ctx)
			if err != nil {
				return interrupted(ctx, err)
			}
			return show.Describe(command.OutOrStdout(), pod.Pod, events, time.Now())
		},
	}
	on = g.onPodCommand(command)
	command.Flags().StringVarP(&output, "output", "o", "", "`format`: yaml or json, the v1.Pod")
	return command
}

func checkOutput(output string) error {
	switch output {
	case "", "yaml", "json":
		return nil
	}
	return fmt.Errorf("unknown output %q: want yaml or json", output)
}

// printObject writes an API object as YAML or JSON.
func printObject(w io.Writer, object any, output string) error {
	var text []byte
	var err error
	if output == "json" {
		text, err = json.MarshalIndent(object, "", "    ")
		text = append(text, '\n')
	} else {
		text, err = yaml.Marshal(object)
	}
	if err != nil {
		return fmt.Errorf("write the pod: %w", err)
	}
	_, err = w.Write(text)
	return err
}
