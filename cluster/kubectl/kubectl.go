package kubectl

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/component-base/cli"
	"k8s.io/component-base/logs"
	"k8s.io/kubectl/pkg/cmd"
	"k8s.io/kubectl/pkg/cmd/util"

	_ "k8s.io/client-go/plugin/pkg/client/auth" // for kubeconfigs of other clusters
)

// NewCommand is "lifepod kubectl". kubeconfigOf says where the cluster of a root
// folder has its administrator's; an empty root is the default one.
func NewCommand(kubeconfigOf func(root string) (string, error)) *cobra.Command {
	return &cobra.Command{
		Use:   "kubectl [--root FOLDER] COMMAND …",
		Short: "Run kubectl for the cluster of this machine",
		Long: `Run kubectl for the cluster that lifepod up runs on this machine.

All commands and flags are kubectl's, and so are the exit codes. Its kubeconfig is
that of the cluster of --root, whatever KUBECONFIG says, unless --kubeconfig names
another. Plugins are not run.`,
		DisableFlagParsing: true,
		ValidArgsFunction: func(_ *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
			line, err := parse(args)
			if err == nil {
				err = line.prepare(kubeconfigOf)
			}
			if err != nil {
				return nil, cobra.ShellCompDirectiveError
			}
			run(append(append([]string{cobra.ShellCompRequestCmd}, line.args...), typed)) // which prints what kubectl knows
			os.Exit(0)
			return nil, cobra.ShellCompDirectiveError
		},
		RunE: func(command *cobra.Command, args []string) error {
			line, err := parse(args)
			if err != nil {
				return err
			}
			if err := line.prepare(kubeconfigOf); err != nil {
				return err
			}
			signal.Reset() // an interrupt ends kubectl, as it does without this program
			run(line.args)
			return nil
		},
	}
}

func (l line) prepare(kubeconfigOf func(string) (string, error)) error {
	if l.kubeconfig {
		return nil
	}
	path, err := kubeconfigOf(l.root)
	if err != nil {
		return err
	}
	_, err = os.Stat(path)
	switch {
	case l.offline():
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("there is no cluster yet, it would have the kubeconfig %s: begin it with lifepod up", path)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("only root reads %s: use sudo, or put the cluster into your own kubeconfig with lifepod up --write-kubeconfig", path)
	}
	return os.Setenv(clientcmd.RecommendedConfigPathEnvVar, path)
}

// run is kubectl's main: it ends the process if there is an error.
func run(args []string) {
	whole := append([]string{"kubectl"}, args...)
	_, _ = logs.GlogSetter(cmd.GetLogVerbosity(whole)) // no number: told when flags are parsed
	streams := genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr}
	command := cmd.NewKubectlCommand(cmd.KubectlOptions{
		Arguments:   whole,
		ConfigFlags: genericclioptions.NewConfigFlags(true).WithDeprecatedPasswordFlag().WithDiscoveryBurst(300).WithDiscoveryQPS(50).WithWarningPrinter(streams),
		IOStreams:   streams,
	})
	withoutPlugins(command)
	command.SetArgs(args)
	if err := cli.RunNoErrOutput(command); err != nil {
		util.CheckErr(err)
	}
}

// withoutPlugins leaves out the command that lists them: none is run.
func withoutPlugins(command *cobra.Command) {
	for _, c := range command.Commands() {
		if c.Name() == "plugin" {
			command.RemoveCommand(c)
		}
	}
}
