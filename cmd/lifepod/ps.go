package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lifepod/lifepod/control/client"
	"github.com/lifepod/lifepod/control/show"
	"github.com/lifepod/lifepod/internal/commandline"
)

func newPsCommand(g *global) *cobra.Command {
	var namespace, output string
	command := &cobra.Command{
		Use:   "ps [flags]",
		Short: "List the pods that run on this machine",
		Args:  commandline.Arguments(0, 0),
		RunE: func(command *cobra.Command, _ []string) error {
			if err := checkOutput(output); err != nil {
				return err
			}
			c, err := g.pods()
			if err != nil {
				return err
			}
			pods, silent, err := c.Pods(command.Context())
			if err != nil {
				return interrupted(command.Context(), err)
			}
			for _, s := range silent {
				warn(command.ErrOrStderr(), "the lifepod at %s does not answer: %v", s.Socket, s.Err)
			}
			for _, pod := range c.Left() {
				warn(command.ErrOrStderr(), "pod %s was left by a lifepod that was killed; lifepod run with its manifests goes on with it", pod)
			}
			pods = inNamespace(pods, namespace)
			if output != "" {
				return printObject(command.OutOrStdout(), podList(pods), output)
			}
			if len(pods) == 0 {
				fmt.Fprintln(command.ErrOrStderr(), "no pod runs")
				return nil
			}
			var rows [][]string
			for _, p := range pods {
				rows = append(rows, show.Row(p.Pod, time.Now()))
			}
			return show.Table(command.OutOrStdout(), show.Columns, rows)
		},
	}
	command.Flags().StringVarP(&namespace, "namespace", "n", "", "only the pods of this `namespace`")
	command.Flags().StringVarP(&output, "output", "o", "", "`format`: yaml or json, a v1.PodList")
	return command
}

func inNamespace(pods []*client.Pod, namespace string) (list []*client.Pod) {
	for _, p := range pods {
		if namespace == "" || p.Namespace == namespace {
			list = append(list, p)
		}
	}
	return list
}

func podList(pods []*client.Pod) *v1.PodList {
	list := &v1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}, Items: []v1.Pod{}}
	for _, p := range pods {
		list.Items = append(list.Items, *p.Pod)
	}
	return list
}
