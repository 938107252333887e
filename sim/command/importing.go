package command

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lifepod/lifepod/internal/plain"
	"github.com/lifepod/lifepod/sim/command/input"
	"github.com/lifepod/lifepod/sim/importing"
	"github.com/lifepod/lifepod/sim/importing/traces"
)

// ExitNothing is the exit code of lifepod sim import when there is nothing to import.
const ExitNothing = 1

// importFlags are the flags of lifepod sim import.
type importFlags struct {
	command string // as it was called
	files   []string
	pod     string
	owner   string
	without []string
	out     string

	stdin          io.Reader
	stdout, stderr io.Writer
}

func newImportCommand(code *int) *cobra.Command {
	o := &importFlags{}
	command := &cobra.Command{
		Use:   "import [flags] (--pod POD.yaml FILE…|- | --out FOLDER TRACE)",
		Short: "Write scenarios of Stages of KWOK, or of a trace of SimKube",
		Long: `Write the scenario of what Stages of KWOK (kwok.x-k8s.io/v1alpha1) do to a pod:
they are played on it as KWOK does, and what its containers must have done for
the statuses that come of it is the scenario. Of Stages that KWOK would draw from,
the one with the greatest weight is taken.

What a scenario can't say, and what comes out otherwise with it, is told, one line
for each, and stands on top of the scenario. Docs: docs/sim.md.

  lifepod sim import --pod web.yaml stages.yaml > scenario.yaml
  lifepod sim web.yaml --scenario scenario.yaml

Of a trace of SimKube (version 2, MessagePack) it writes into the new folder --out a
scenario for the pods of each workload, which take as long as those in the trace,
and below objects/ the manifests of what was applied and deleted, with times.txt:
the seconds since the trace begins, apply or delete, and the file. The flags for
lifepod sim nodes that give the pods their scenarios are printed.

  lifepod sim import --out recorded cluster.sktrace

Exit code: 0 there is a scenario; 1 no Stage applies to the pod, or the trace is
empty; 125 an error of lifepod itself.`,
		Args: func(_ *cobra.Command, files []string) error {
			if len(files) == 0 {
				return errors.New("no Stages: want lifepod sim import --pod POD.yaml FILE…, or - for standard input; or --out FOLDER TRACE, with a trace of SimKube")
			}
			return nil
		},

		ValidArgsFunction: completeFiles,

		RunE: func(command *cobra.Command, files []string) error {
			o.command, o.files = command.CommandPath(), files
			o.stdin, o.stdout, o.stderr = command.InOrStdin(), command.OutOrStdout(), command.ErrOrStderr()
			var err error
			*code, err = o.run()
			return err
		},
	}
	flags := command.Flags()
	flags.StringVar(&o.pod, "pod", "", "the `file` with the manifest of the pod: scenarios are about containers, and have their names")
	flags.StringVar(&o.owner, "owner", "", "the `kind` of the pod's owner, for Stages that ask for it, such as Job")
	flags.StringArrayVar(&o.without, "without", nil, "leave out the Stage of this `name`; may be given more than once")
	flags.StringVarP(&o.out, "out", "o", "", "the `file` to write (standard output); of a trace the folder, which is to be new or empty")
	for name, completes := range map[string]cobra.CompletionFunc{
		"pod": completeFiles, "out": completeFiles, "without": cobra.NoFileCompletions,
		"owner": cobra.FixedCompletions([]cobra.Completion{"Job", "ReplicaSet", "StatefulSet", "DaemonSet"}, cobra.ShellCompDirectiveNoFileComp),
	} {
		if err := command.RegisterFlagCompletionFunc(name, completes); err != nil {
			panic(err) // the flag is above
		}
	}
	return command
}

// run imports, and says the exit code.
func (o *importFlags) run() (int, error) {
	if all := append(slices.Clone(o.files), o.pod); slices.Index(all, "-") != lastIndex(all, "-") {
		return ExitError, errors.New("-: standard input can be read once only: the others are to be files")
	}
	files, err := o.read()
	if err != nil {
		return ExitError, err
	}
	if slices.ContainsFunc(files, func(f importing.File) bool { return traces.Is(f.Data) }) {
		return o.importTrace(files)
	}
	if o.pod == "" {
		return ExitError, errors.New("a scenario is about the containers of a pod: want --pod with its manifest")
	}
	in, err := input.Files{Command: o.command, Manifests: []string{o.pod}, Stdin: o.stdin}.Read()
	if err != nil {
		return ExitError, err
	}
	result, err := importing.Stages(files, in.Set.Pod, importing.Options{Owner: o.owner, Without: o.without})
	if err != nil {
		return ExitError, err
	}
	for _, n := range result.Notes {
		o.say(n.String())
	}
	if result.Scenario == nil {
		o.say("lifepod: no Stage applies to the pod: there is nothing to import")
		return ExitNothing, nil
	}
	text, err := result.YAML(strings.Join(o.files, ", ") + " for pod " + in.Set.Pod.Namespace + "/" + in.Set.Pod.Name)
	if err != nil {
		return ExitError, err
	}
	return 0, o.write(text)
}

func lastIndex(list []string, of string) int {
	for i, s := range slices.Backward(list) {
		if s == of {
			return i
		}
	}
	return -1
}

func (o *importFlags) say(line string) { fmt.Fprintln(o.stderr, plain.Line(line)) }

func (o *importFlags) read() (list []importing.File, err error) {
	for _, name := range o.files {
		f := importing.File{Name: name}
		if name == "-" {
			f.Name = "<stdin>"
			f.Data, err = limited(o.stdin)
		} else {
			f.Data, err = readFile(name)
		}
		if err != nil {
			return nil, fmt.Errorf("read what is to be imported: %w", err)
		}
		list = append(list, f)
	}
	return list, nil
}

func readFile(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return limited(f)
}

// limited reads what may be imported, up to a size that no file of it has.
func limited(r io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, traces.MaxBytes+1))
	if err == nil && len(data) > traces.MaxBytes {
		err = fmt.Errorf("more than %d MiB", traces.MaxBytes>>20)
	}
	return data, err
}

func (o *importFlags) write(text []byte) error {
	if o.out != "" {
		if err := os.WriteFile(o.out, text, 0o644); err != nil { //nolint:gosec // as a shell would
			return fmt.Errorf("write scenario: %w", err)
		}
		return nil
	}
	if _, err := o.stdout.Write(text); err != nil {
		return fmt.Errorf("write standard output: %w", err)
	}
	return nil
}
