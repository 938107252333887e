package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/lifepod/lifepod/examples"
	"github.com/lifepod/lifepod/internal/commandline"
)

func newExampleCommand(run, sim *cobra.Command) *cobra.Command {
	c := &cobra.Command{
		Use:   "example",
		Short: "List, show, run and explain the examples that are in this program",
		Long: `List, show, run and explain the examples that are in this program: the manifests of
the documentation, each of which shows one thing of a Pod's life.`,
	}
	list := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List the examples, with what each shows", Args: commandline.Arguments(0, 0),
		RunE: func(c *cobra.Command, _ []string) error { return listExamples(c.OutOrStdout()) },
	}
	show := &cobra.Command{
		Use: "show NAME", Short: "Print an example: its manifests, which say on top what to look at", Args: commandline.Arguments(1, 1),
		RunE: func(c *cobra.Command, names []string) error {
			text, err := example(names[0])
			if err == nil {
				_, err = io.WriteString(c.OutOrStdout(), text)
			}
			return err
		},
	}
	explain := &cobra.Command{
		Use: "explain NAME", Short: "Tell what to look at in an example, and its life in virtual time with the rules behind each line",
		Args: commandline.Arguments(1, 1),
		RunE: func(c *cobra.Command, names []string) error { return explainExample(c, sim, names[0]) },
	}
	run.Use, run.Short, run.Args = "run [flags] NAME", "Run an example on this machine, as lifepod run does its manifests", commandline.Arguments(1, 1)
	run.Long = run.Short + ".\n\nThe flags are those of lifepod run; --explain tells which rule is at work. Those of a cluster are for\nlifepod up: lifepod example show NAME | lifepod kubectl apply -f -"
	check := run.PreRunE
	begin := run.RunE
	stdin := []string{"-"}
	run.PreRunE = func(c *cobra.Command, names []string) error {
		text, err := example(names[0])
		if err != nil {
			return err
		}
		if strings.HasPrefix(names[0], "cluster/") {
			return fmt.Errorf("%s is for a cluster: lifepod example show %[1]s | lifepod kubectl apply -f -", names[0])
		}
		c.SetIn(strings.NewReader(text))
		return check(c, stdin)
	}
	run.RunE = func(c *cobra.Command, _ []string) error { return begin(c, stdin) }
	c.AddCommand(list, show, run, explain)
	for _, one := range []*cobra.Command{show, run, explain} {
		one.ValidArgsFunction = func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return exampleNames(), cobra.ShellCompDirectiveNoFileComp
		}
	}
	return c
}

// exampleNames are the names of all, those of a cluster last.
func exampleNames() []string { return append(examplesIn("*.yaml"), examplesIn("cluster/*.yaml")...) }

func examplesIn(pattern string) (names []string) {
	files, err := fs.Glob(examples.Files, pattern)
	if err != nil {
		panic(err) // the patterns are right
	}
	for _, file := range files {
		names = append(names, strings.TrimSuffix(file, ".yaml"))
	}
	return names
}

// example is the text of one.
func example(name string) (string, error) {
	text, err := examples.Files.ReadFile(name + ".yaml")
	if err != nil || strings.HasPrefix(name, "scenarios/") {
		return "", fmt.Errorf("no example %q: lifepod example list has all", name)
	}
	return string(text), nil
}

func listExamples(to io.Writer) error {
	for _, pattern := range []string{"*.yaml", "cluster/*.yaml"} {
		table := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
		for _, name := range examplesIn(pattern) {
			text, err := example(name)
			if err != nil {
				return err
			}
			about, _, _ := strings.Cut(strings.Join(strings.Fields(aboutExample(text)), " "), ". ")
			_, _ = fmt.Fprintf(table, "%s\t%s\n", name, strings.TrimSuffix(about, "."))
		}
		if err := table.Flush(); err != nil {
			return err
		}
	}
	return nil
}

// aboutExample is what an example says on top, without what it prints.
func aboutExample(text string) string {
	var about strings.Builder
	for line := range strings.Lines(text) {
		comment, ok := strings.CutPrefix(line, "#")
		if !ok || strings.HasPrefix(comment, "   +") {
			break
		}
		about.WriteString(strings.TrimPrefix(comment, " "))
	}
	return strings.TrimRight(about.String(), "\n") + "\n"
}

// explainExample tells what to look at, and then the life as lifepod sim --explain does, with the example's scenario.
func explainExample(c *cobra.Command, sim *cobra.Command, name string) (err error) {
	text, err := example(name)
	if err != nil {
		return err
	}
	about := strings.ReplaceAll(aboutExample(text), "lifepod run examples/"+name+".yaml", "lifepod example run "+name)
	if _, err := fmt.Fprintln(c.OutOrStdout(), about); err != nil || strings.HasPrefix(name, "cluster/") {
		return err
	}
	folder, err := os.MkdirTemp("", "lifepod-example-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	if err := os.CopyFS(folder, examples.Files); err != nil {
		return err
	}
	args := []string{"--explain", filepath.Join(folder, name+".yaml")}
	scenario := filepath.Join(folder, "scenarios", name+".yaml")
	if _, err := os.Stat(scenario); err == nil {
		args = append(args, "--scenario", scenario)
	}
	sim.SetArgs(args)
	sim.SetOut(c.OutOrStdout())
	sim.SetErr(c.OutOrStdout())
	return sim.ExecuteContext(c.Context())
}
