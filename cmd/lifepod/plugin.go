package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/lifepod/lifepod/bundle"
	"github.com/lifepod/lifepod/internal/commandline"
	"github.com/lifepod/lifepod/journal"
	"github.com/lifepod/lifepod/journal/remote"
)

// journals opens what a command tells from. The namespace is the one that its flags name;
// empty: none.
type journals func(command *cobra.Command, namespace string) (journal.Source, error)

// kubeletRoot is where an agent in a cluster has its pods' files, and the journal.
const kubeletRoot = "/var/lib/kubelet"

// journals are those of the state folder; of the usual one also that of an agent in a cluster.
func (g *global) journals() []journal.Folder {
	all := journal.In(g.root)
	if g.root == bundle.DefaultRoot {
		all = append(all, journal.In(kubeletRoot)[0])
	}
	return all
}

// journal is what the state folder has, and what the API server of its cluster knows beside that.
func (g *global) journal(command *cobra.Command, namespace string) (journal.Source, error) {
	if os.Geteuid() != 0 {
		return nil, errors.New("only root may see pods: run it with sudo")
	}
	all := journal.Together(g.journals())
	client, err := g.cluster()
	if err != nil || client == nil {
		return all, err
	}
	known := &remote.Cluster{Context: command.Context(), Client: client, Namespace: namespace}
	return append(all, ownCluster{known, command.ErrOrStderr()}), nil
}

// pluginName is the file that kubectl looks for: kubectl lifepod.
const pluginName = "kubectl-lifepod"

// isPlugin says whether the program was started by that name.
func isPlugin() bool { return filepath.Base(os.Args[0]) == pluginName }

// access is how the plugin reaches a cluster, as kubectl does.
type access struct {
	own        global // whose cluster it is, if it is that of a state folder
	kubeconfig string
	overrides  clientcmd.ConfigOverrides
	all        bool
}

// newPluginCommand is lifepod as a plugin of kubectl: what nodes run by lifepod know of the
// cluster's pods. It is that of lifepod up in a state folder, unless own is empty.
func newPluginCommand(code *int, own string) *cobra.Command {
	a := &access{}
	root := &cobra.Command{
		Use:   "kubectl",
		Short: "Ask nodes that lifepod runs what happened to their pods, and why",
		Long: `Ask nodes that lifepod runs what happened to their pods, and why.

It is asked through the API server, with your rights: get and list pods, get
nodes/proxy; why without a pod lists workloads, claims, Services and Events, too. Of
pods on other nodes it tells what their objects say.`,
		SilenceUsage:     true,
		SilenceErrors:    true,
		Version:          version,
		PersistentPreRun: cancelOnSignal,
		Annotations:      map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl lifepod"},
	}
	root.SetFlagErrorFunc(commandline.FlagError)
	commandline.Help(root)
	root.SetVersionTemplate(versionText())
	flags := root.PersistentFlags()
	commandline.ColourVar(flags)
	flags.StringVar(&a.kubeconfig, "kubeconfig", "", "the `file` that says which cluster it is, and who asks")
	flags.StringVar(&a.overrides.CurrentContext, "context", "", "the `name` of the kubeconfig's context")
	flags.BoolVarP(&a.all, "all-namespaces", "A", false, "pods of all namespaces")
	if own != "" {
		flags.StringVar(&a.own.root, "root", own, "state `folder` of lifepod up")
	}
	root.AddCommand(interruptible(newWhyCommand(a.journal, code), newTimelineCommand(a.journal))...)
	return root
}

// journal is the cluster's, of one namespace unless all are wanted.
func (a *access) journal(command *cobra.Command, namespace string) (journal.Source, error) {
	if a.all && namespace != "" {
		return nil, errors.New("--namespace and --all-namespaces exclude each other")
	}
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = a.kubeconfig
	if a.own.root != "" && a.kubeconfig == "" {
		if rules.ExplicitPath = a.own.kubeconfig(); rules.ExplicitPath == "" {
			return nil, fmt.Errorf("there is no cluster in %s: begin it with %s", a.own.root, bundle.Command(a.own.root, "up"))
		}
	}
	a.overrides.Context.Namespace = namespace
	config := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &a.overrides)
	rest, err := config.ClientConfig()
	if clientcmd.IsEmptyConfig(err) {
		err = errors.New("want --kubeconfig, or KUBECONFIG; lifepod kubectl lifepod asks that of lifepod up")
	}
	if err != nil {
		return nil, fmt.Errorf("which cluster? %w", err)
	}
	client, err := kubernetes.NewForConfig(rest)
	if err != nil {
		return nil, fmt.Errorf("reach the cluster: %w", err)
	}
	cluster := &remote.Cluster{Context: command.Context(), Client: client}
	if !a.all {
		if cluster.Namespace, _, err = config.Namespace(); err != nil {
			return nil, fmt.Errorf("which namespace? %w", err)
		}
	}
	return cluster, nil
}
