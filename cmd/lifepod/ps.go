package main

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lifepod/lifepod/control/client"
	"github.com/lifepod/lifepod/control/show"
	"github.com/lifepod/lifepod/internal/commandline"
	"github.com/lifepod/lifepod/unattended"
)

func newPsCommand(g *global) *cobra.Command {
	var namespace, output string
	var ended bool
	command := &cobra.Command{
		Use:               "ps [flags]",
		Short:             "List the pods that run on this machine, with -a those that have ended, too",
		Args:              commandline.Arguments(0, 0),
		ValidArgsFunction: cobra.NoFileCompletions,

		RunE: func(command *cobra.Command, _ []string) error {
			if err := commandline.CheckOutput(output, "yaml", "json", "wide"); err != nil {
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
			left := c.Unattended(pods)
			all := inNamespace(pods, left, namespace)
			for _, line := range unattended.Notices(slices.DeleteFunc(all.left, unattended.Pod.Ended)) {
				warn(command.ErrOrStderr(), "%s", line)
			}
			if ended {
				all.pods = append(all.pods, inNamespace(nil, c.Ended(pods, left), namespace).pods...)
			}
			return printPods(command, all.pods, output, ended)
		},
	}
	command.Flags().StringVarP(&namespace, "namespace", "n", "", "only the pods of this `namespace`")
	command.Flags().BoolVarP(&ended, "all", "a", false, "also those that have ended, of which the journal tells")
	command.Flags().StringVarP(&output, "output", "o", "", "`format`: wide; or yaml or json, a v1.PodList")
	return command
}

// shownPods are the pods to show; left are those of them that are unattended.
type shownPods struct {
	pods []*v1.Pod
	left []unattended.Pod
}

// inNamespace are the pods of a namespace, of all if it is empty, by name.
func inNamespace(attended []*client.Pod, left []unattended.Pod, namespace string) (all shownPods) {
	for _, p := range attended {
		if namespace == "" || p.Namespace == namespace {
			all.pods = append(all.pods, p.Pod)
		}
	}
	for _, p := range left {
		if namespace == "" || p.Namespace == namespace {
			all.pods, all.left = append(all.pods, p.Pod), append(all.left, p)
		}
	}
	slices.SortStableFunc(all.pods, func(a, b *v1.Pod) int {
		return cmp.Compare(a.Namespace+"/"+a.Name, b.Namespace+"/"+b.Name)
	})
	return all
}

func printPods(command *cobra.Command, pods []*v1.Pod, output string, ended bool) error {
	switch {
	case output == "yaml" || output == "json":
		return printObject(command.OutOrStdout(), podList(pods), output)
	case len(pods) == 0:
		fmt.Fprintln(command.ErrOrStderr(), "no pod runs")
		return nil
	}
	heads, row := show.Columns, show.Row
	switch {
	case ended && output == "wide":
		heads, row = show.AllWideColumns, show.AllWideRow
	case ended:
		heads, row = show.AllColumns, show.AllRow
	case output == "wide":
		heads, row = show.WideColumns, show.WideRow
	}
	var rows [][]string
	for _, p := range pods {
		rows = append(rows, row(p, time.Now()))
	}
	return show.Table(command.OutOrStdout(), heads, rows)
}

func podList(pods []*v1.Pod) *v1.PodList {
	list := &v1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}, Items: []v1.Pod{}}
	for _, p := range pods {
		list.Items = append(list.Items, *p)
	}
	return list
}
