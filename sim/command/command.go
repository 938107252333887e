package command

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/lifepod/lifepod/internal/commandline"
	"github.com/lifepod/lifepod/sim/nodes/nodefaults"
	"github.com/lifepod/lifepod/sim/scenario"
)

// Exit codes of lifepod sim.
const (
	ExitAsserted = 1   // an assertion fails
	ExitError    = 125 // lifepod's own error
)

type options struct {
	command  string // as it was called
	files    []string
	scenario string
	seed     uint64
	runs     int
	limit    time.Duration
	asserts  []string
	output   string
	verbose  bool
	explain  bool

	stdin          io.Reader
	stdout, stderr io.Writer
}

var formats = append([]string{"json"}, ChartFormats...)

// New is the command; its exit code goes to code.
func New(code *int) *cobra.Command {
	o := &options{}
	command := &cobra.Command{
		Use:   "sim [flags] FILE…|-",
		Short: "Simulate the life of a manifest's Pod in virtual time, without containers",
		Long: `Simulate the life of a manifest's Pod in virtual time, without containers or root.

The rules are those of lifepod run, and so is what is printed. What containers do
and what befalls the node is a scenario (--scenario); without one init containers
end well after 100 ms, sidecars run for ever, and the other containers do so if the
pod restarts them always, else they end well after a second. The same manifests,
scenario and seed give the same output. Docs: docs/sim.md.

Exit code: 0 all assertions hold, whatever becomes of the pod; 1 one fails;
125 an error of lifepod itself.`,
		Args: func(_ *cobra.Command, files []string) error {
			if len(files) == 0 {
				return errors.New("no manifest: want lifepod sim FILE…, or - for standard input")
			}
			return nil
		},

		ValidArgsFunction: completeFiles,

		RunE: func(command *cobra.Command, files []string) error {
			o.command, o.files = command.CommandPath(), files
			o.stdin, o.stdout, o.stderr = command.InOrStdin(), command.OutOrStdout(), command.ErrOrStderr()
			if err := o.check(command.Flags().Changed("for")); err != nil {
				return err
			}
			var err error
			*code, err = o.run(command.Context())
			return err
		},
	}
	flags := command.Flags()
	o.lifeFlags(flags)
	flags.IntVar(&o.runs, "runs", 1, "simulate so many lives, with this seed and those that follow, and show statistics: a `number`")
	flags.StringArrayVar(&o.asserts, "assert", nil, "what must hold, else the exit code is 1: a `text` such as 'Ready within 30s', 'restarts(main) <= 3', 'never two of main'")
	flags.StringVarP(&o.output, "output", "o", "", "`format`: json, one object per line; timeline, a chart; svg, html: the chart as a picture, a page")
	flags.BoolVarP(&o.verbose, "verbose", "v", false, "show Kubernetes events and the rules behind each line, too")
	flags.BoolVar(&o.explain, "explain", false, "show what each rule says when it comes for the first time; implies -v")
	command.AddCommand(newSchemaCommand(), newDiffCommand(code))
	return command
}

func (o *options) lifeFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.scenario, "scenario", "", "the `file` that says what happens; its JSON schema is printed by lifepod sim schema")
	flags.Uint64Var(&o.seed, "seed", 1, "begin of everything that is drawn by chance: a `number`")
	commandline.DurationVar(flags, &o.limit, "for", 0, "how long a life is looked at: a `duration` (as the scenario says, else 1h)")
}

func completeFiles(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return []cobra.Completion{"yaml", "yml", "json"}, cobra.ShellCompDirectiveFilterFileExt
}

func (o *options) check(limited bool) error {
	if o.output != "" && !slices.Contains(formats, o.output) {
		return fmt.Errorf("-o %s: want %s", o.output, strings.Join(formats, ", "))
	}
	switch {
	case o.limit < 0 || limited && o.limit == 0:
		return fmt.Errorf("--for %v: want a duration above 0, such as 1h", o.limit)
	case o.explain && o.output != "":
		return fmt.Errorf("--explain and -o %s exclude each other", o.output)
	}
	if err := CheckChart(o.output, o.stdout); err != nil {
		return err
	}
	return o.checkRuns()
}

func (o *options) checkRuns() error {
	switch {
	case o.runs < 1:
		return fmt.Errorf("--runs %d: want 1 or more", o.runs)
	case uint64(o.runs-1) > math.MaxUint64-o.seed:
		return fmt.Errorf("--seed %d: want %d or less, for --runs %d: each life has the next seed", o.seed, math.MaxUint64-uint64(o.runs-1), o.runs)
	case o.runs > 1 && o.output != "" && o.output != "json":
		return fmt.Errorf("--runs and -o %s exclude each other: there is -o json", o.output)
	case o.runs > 1 && (o.verbose || o.explain):
		return errors.New("--runs shows statistics, and excludes -v and --explain")
	}
	return nil
}

func newSchemaCommand() *cobra.Command {
	var nodes bool
	command := &cobra.Command{
		Use:   "schema [--nodes]",
		Short: "Print the JSON schema of scenarios",
		Args:  commandline.Arguments(0, 0),

		ValidArgsFunction: cobra.NoFileCompletions,

		RunE: func(command *cobra.Command, _ []string) error {
			schema := scenario.Schema
			if nodes {
				schema = nodefaults.Schema
			}
			_, err := io.WriteString(command.OutOrStdout(), schema)
			return err
		},
	}
	command.Flags().BoolVar(&nodes, "nodes", false, "that of scenarios of nodes, for --node-scenario of lifepod sim nodes")
	return command
}
