package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lifepod/lifepod/control/client"
	"github.com/lifepod/lifepod/control/show"
	"github.com/lifepod/lifepod/internal/commandline"
	"github.com/lifepod/lifepod/internal/plain"
	"github.com/lifepod/lifepod/unattended"
)

// psFlags are those of lifepod ps.
type psFlags struct {
	which
	output                          string
	ended, watch, quiet, headerless bool
	table                           plain.Table
}

func newPsCommand(g *global) *cobra.Command {
	f := &psFlags{}
	command := &cobra.Command{
		Use:               "ps [flags]",
		Short:             "List the pods that run on this machine, with -a those that have ended, too",
		Args:              commandline.Arguments(0, 0),
		ValidArgsFunction: cobra.NoFileCompletions,

		RunE: func(command *cobra.Command, _ []string) error {
			if err := commandline.CheckOutput(f.output, psOutputs...); err != nil {
				return err
			}
			if f.quiet && f.output != "" {
				return errors.New("-q and -o exclude each other")
			}
			c, err := g.pods()
			if err == nil && f.watch {
				err = f.follow(command, c)
			} else if err == nil {
				err = f.once(command, c)
			}
			return interrupted(command.Context(), err)
		},
	}
	f.add(command)
	flags := command.Flags()
	flags.BoolVarP(&f.ended, "all", "a", false, "also those that have ended, of which the journal tells")
	flags.BoolVarP(&f.watch, "watch", "w", false, "then go on with each pod that changes, looking once a second")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "only NAMESPACE/NAME")
	flags.BoolVar(&f.headerless, "no-headers", false, "without the columns' heads")
	flags.StringVarP(&f.output, "output", "o", "", "`format`: wide; name; yaml or json, a v1.PodList; jsonpath={…} or go-template={{…}} of it")
	return command
}

// psOutputs are the formats of ps; those that end in = go on.
var psOutputs = append([]string{"wide", "name"}, objectOutputs...)

func (f *psFlags) once(command *cobra.Command, c *client.Client) error {
	pods, err := f.list(command.Context(), c, command.ErrOrStderr())
	if err != nil {
		return err
	}
	return f.print(command, pods)
}

// follow prints the pods, and then each again that has changed.
func (f *psFlags) follow(command *cobra.Command, c *client.Client) error {
	ctx, warnings := command.Context(), command.ErrOrStderr()
	seen := map[types.UID]*v1.Pod{}
	for {
		began := time.Now()
		pods, err := f.list(ctx, c, warnings)
		if err != nil {
			return err
		}
		warnings = io.Discard
		changed := slices.DeleteFunc(pods, func(p *v1.Pod) bool {
			before := seen[p.UID]
			seen[p.UID] = p
			return equality.Semantic.DeepEqual(before, p)
		})
		if len(changed) > 0 {
			if err := f.print(command, changed); err != nil {
				return err
			}
			f.headerless = true
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(max(time.Second, 4*time.Since(began))):
		}
	}
}

// list are the pods that are wanted.
func (f *psFlags) list(ctx context.Context, c *client.Client, warnings io.Writer) ([]*v1.Pod, error) {
	pods, silent, err := c.Pods(ctx)
	if err != nil {
		return nil, err
	}
	for _, s := range silent {
		warn(warnings, "the lifepod at %s does not answer: %v", s.Socket, s.Err)
	}
	left := c.Unattended(pods)
	all, err := f.of(pods, left)
	if err != nil {
		return nil, err
	}
	for _, line := range unattended.Notices(slices.DeleteFunc(all.left, unattended.Pod.Ended)) {
		warn(warnings, "%s", line)
	}
	if f.ended {
		ended, err := f.of(nil, c.Ended(pods, left))
		return append(all.pods, ended.pods...), err
	}
	return all.pods, nil
}

func (f *psFlags) print(command *cobra.Command, pods []*v1.Pod) error {
	out := command.OutOrStdout()
	switch f.output {
	case "", "wide":
	case "name":
		return printNames(out, pods, "pod/%[2]s\n")
	default:
		return f.printObjects(out, pods)
	}
	switch {
	case f.quiet:
		return printNames(out, pods, "%s/%s\n")
	case len(pods) == 0:
		fmt.Fprintln(command.ErrOrStderr(), "no pod runs")
		return nil
	}
	heads, row := show.Columns, show.Row
	switch {
	case f.ended && f.output == "wide":
		heads, row = show.AllWideColumns, show.AllWideRow
	case f.ended:
		heads, row = show.AllColumns, show.AllRow
	case f.output == "wide":
		heads, row = show.WideColumns, show.WideRow
	}
	var rows [][]string
	if !f.headerless {
		rows = append(rows, heads)
	}
	for _, p := range pods {
		rows = append(rows, row(p, time.Now()))
	}
	return show.TableLike(out, &f.table, rows)
}

func printNames(out io.Writer, pods []*v1.Pod, format string) (err error) {
	for _, p := range pods {
		if err == nil {
			_, err = fmt.Fprintf(out, format, plain.Line(p.Namespace), plain.Line(p.Name))
		}
	}
	return err
}

// printObjects prints a list, or while it follows pods one after the other, as kubectl does.
func (f *psFlags) printObjects(out io.Writer, pods []*v1.Pod) error {
	if !f.watch {
		return printObject(out, podList(pods), f.output)
	}
	for _, p := range pods {
		if err := printObject(out, p, f.output); err != nil {
			return err
		}
	}
	return nil
}

func podList(pods []*v1.Pod) *v1.PodList {
	list := &v1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}, Items: []v1.Pod{}}
	for _, p := range pods {
		list.Items = append(list.Items, *p)
	}
	return list
}
