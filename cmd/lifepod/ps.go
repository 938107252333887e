package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/spf13/cobra"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lifepod/lifepod/control/client"
	"github.com/lifepod/lifepod/internal/commandline"
	"github.com/lifepod/lifepod/internal/pathwatch"
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
			return err
		},
	}
	f.add(command)
	flags := command.Flags()
	flags.BoolVarP(&f.ended, "all", "a", false, "also those that have ended, of which the journal tells")
	flags.BoolVarP(&f.watch, "watch", "w", false, "then go on with each pod that changes")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "only NAMESPACE/NAME")
	flags.BoolVar(&f.headerless, "no-headers", false, "without the columns' heads")
	flags.StringVarP(&f.output, "output", "o", "", "`format`: wide; name; yaml or json, a v1.PodList; jsonpath={…} or go-template={{…}} of it")
	return command
}

// psOutputs are the formats of ps; those that end in = go on.
var psOutputs = append([]string{"wide", "name"}, objectOutputs...)

func (f *psFlags) once(command *cobra.Command, c *client.Client) error {
	pods, _, err := f.list(command.Context(), c, command.ErrOrStderr())
	if err != nil {
		return err
	}
	return f.print(command, pods)
}

// ps -w has a connection to each pod, to mostWatched at most. It lists the pods again when one of them changes, or comes or goes, but
// not more often than each soon; and after sometimes, if it has heard of nothing.
const (
	mostWatched = 250
	soon        = 100 * time.Millisecond
	sometimes   = 10 * time.Second
)

// follow prints the pods, and then each again that has changed.
func (f *psFlags) follow(command *cobra.Command, c *client.Client) error {
	ctx, warnings := command.Context(), command.ErrOrStderr()
	changes := pathwatch.New(func(context.Context, error) {}) // without it there is a look, too
	defer changes.Close()
	seen, watched := map[types.UID]*v1.Pod{}, sync.Map{}
	for {
		changes.Follow(ctx, c.Folder)
		began := time.Now()
		pods, attended, err := f.list(ctx, c, warnings)
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
		for _, p := range attended[:min(len(attended), mostWatched)] {
			if seen[p.UID] == nil {
				continue
			}
			if _, is := watched.LoadOrStore(p.UID, true); !is {
				go func() {
					_ = p.Watch(ctx, func(*v1.Pod) bool { changes.Changed.Send(); return true }) // the next look sees why it ended
					watched.Delete(p.UID)
					changes.Changed.Send()
				}()
			}
		}
		next := sometimes
		if len(attended) > mostWatched {
			next = time.Second
		}
		took := time.Since(began)
		select {
		case <-ctx.Done():
		case <-changes.Changed:
		case <-time.After(next):
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(max(soon, 4*took)):
		}
	}
}

// list are the pods that are wanted, and all that a lifepod leads.
func (f *psFlags) list(ctx context.Context, c *client.Client, warnings io.Writer) (list []*v1.Pod, attended []*client.Pod, _ error) {
	attended, silent, err := c.Pods(ctx)
	if err != nil {
		return nil, nil, err
	}
	for _, s := range silent {
		warn(warnings, "the lifepod at %s does not answer: %v", s.Socket, s.Err)
	}
	left := c.Unattended(attended)
	all, err := f.of(attended, left)
	if err != nil {
		return nil, nil, err
	}
	for _, line := range unattended.Notices(slices.DeleteFunc(all.left, unattended.Pod.Ended)) {
		warn(warnings, "%s", line)
	}
	if f.ended {
		ended, err := f.of(nil, c.Ended(attended, left))
		return append(all.pods, ended.pods...), attended, err
	}
	return all.pods, attended, nil
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
	heads, row := client.Columns, client.Row
	switch {
	case f.ended && f.output == "wide":
		heads, row = client.AllWideColumns, client.AllWideRow
	case f.ended:
		heads, row = client.AllColumns, client.AllRow
	case f.output == "wide":
		heads, row = client.WideColumns, client.WideRow
	}
	var rows [][]string
	if !f.headerless {
		rows = append(rows, heads)
	}
	for _, p := range pods {
		rows = append(rows, row(p, time.Now()))
	}
	return client.TableLike(out, &f.table, rows)
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
