package main

import (
	"time"

	"github.com/spf13/cobra"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lifepod/lifepod/control/client"
	"github.com/lifepod/lifepod/internal/commandline"
)

func newEventsCommand(g *global) *cobra.Command {
	var on *onPod
	var output string
	command := &cobra.Command{
		Use:   "events [flags] POD",
		Short: "List the Kubernetes Events of a pod",
		Long: `List the Kubernetes Events of a pod, the oldest first, as kubectl events does on a
cluster. lifepod timeline tells what happened between them.`,
		Args: onePod,
		RunE: func(command *cobra.Command, args []string) error {
			if err := commandline.CheckOutput(output, objectOutputs...); err != nil {
				return err
			}
			_, events, err := on.describe(command.Context(), args[0], true)
			switch {
			case err != nil:
				return err
			case output != "":
				return printObject(command.OutOrStdout(), &v1.EventList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "EventList"}, Items: events}, output)
			}
			return client.Table(command.OutOrStdout(), []string{"LAST", "TYPE", "REASON", "CONTAINER", "MESSAGE"}, client.Events(events, time.Now()))
		},
	}
	on = g.onPodCommand(command)
	command.Flags().StringVarP(&output, "output", "o", "", "`format`: yaml or json, a v1.EventList; jsonpath={…} or go-template={{…}} of it")
	return command
}
