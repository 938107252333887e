package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"google.golang.org/grpc/grpclog"
	"k8s.io/component-base/cli/flag"

	"github.com/lifepod/lifepod/bundle"
	"github.com/lifepod/lifepod/cluster"
	"github.com/lifepod/lifepod/cluster/lead"
	"github.com/lifepod/lifepod/cluster/state"
	"github.com/lifepod/lifepod/internal/background"
	"github.com/lifepod/lifepod/internal/commandline"
	"github.com/lifepod/lifepod/internal/notify"
)

func newUpCommand(g *global) *cobra.Command {
	c := cluster.Config{RuntimeConfig: map[string]string{}}
	var detach, page bool
	command := &cobra.Command{
		Use:   "up [flags]",
		Short: "Be a whole Kubernetes: API server, scheduler, controllers and this machine's node",
		Long: `Be a whole Kubernetes in this process: etcd, API server, scheduler, controllers and
the node of this machine, until it is stopped.

Ctrl-C and SIGTERM end the process and leave the pods running; the next lifepod up
goes on with them, also after kill -9 or a reboot. lifepod down ends the pods, too.

With --detach it runs in the background and logs to ROOT/cluster/log. ROOT is the
folder of --root; each has a cluster of its own, and several may run at once.`,
		Args: commandline.Arguments(0, 0),

		ValidArgsFunction: cobra.NoFileCompletions,

		RunE: func(command *cobra.Command, _ []string) error {
			if detach && page {
				return errors.New("--ui and --detach exclude each other: lifepod ui shows the page of a cluster in the background")
			}
			own := background.Take()
			if detach && own == nil {
				return upDetached(command.Context(), command.OutOrStdout(), g.root)
			}
			log, err := g.logger()
			if err != nil {
				return err
			}
			c.Root, c.Version, c.Log, c.Service = g.root, version(), log, notify.Take(log)
			if file, err := cluster.LogFile(g.root); own != nil && err == nil { // else cluster.Run says so
				go background.Trim(command.Context(), file, log)
			}
			grpclog.SetLoggerV2(grpclog.NewLoggerV2(io.Discard, io.Discard, io.Discard)) // our errors say it all
			return cluster.Run(command.Context(), c, func(r cluster.Ready) {
				c.Service.Ready(command.Context())
				if slices.Contains(c.Disable, "node") { // else the node says whether it is alive
					go c.Service.Watch(command.Context(), func() error { return nil }, log)
				}
				if own != nil {
					own.Ready(r)
				} else {
					printReady(command.OutOrStdout(), g.root, r)
				}
				if page {
					servePage(command, c, r)
				}
			})
		},
	}
	addUpFlags(command.Flags(), &c)
	addCNIFlags(command, &c.CNI)
	command.Flags().Var(&c.OCIRuntime, "runtime", bundle.RuntimeUsage)
	command.Flags().BoolVar(&detach, "detach", false, "run in the background; return when the cluster is ready")
	command.Flags().BoolVar(&page, "ui", false, "show the cluster in a browser of this machine, as lifepod ui does; the link is printed")
	_ = command.RegisterFlagCompletionFunc("disable", cobra.FixedCompletions(cluster.Parts(), cobra.ShellCompDirectiveNoFileComp)) // it is there
	return command
}

func addUpFlags(flags *pflag.FlagSet, c *cluster.Config) {
	flags.StringVar(&c.Listen, "listen", "", "`address:port` of the API server; all addresses, the port it had before, or the first free one from 6443")
	flags.StringVar(&c.Node, "node-name", "", "`name` of this machine's node, instead of its host name")
	flags.StringVar(&c.NodeConfig, "config", "", "KubeletConfiguration `file` of this machine's node")
	flags.IntVar(&c.NodePort, "port", 0, "`port` of the API of this machine's node; the configuration's, the port it had before, or the first free one from 10250")
	flags.Var(flag.NewMapStringBool(&c.FeatureGates), "feature-gates", "feature gates of all parts: `name=true,…`")
	flags.Var((*flag.ConfigurationMap)(&c.RuntimeConfig), "runtime-config", "`group/version=true,…`: APIs to turn on or off; also group/version/resource, api/all, api/ga, api/beta, api/alpha")
	flags.StringSliceVar(&c.DisableAdmission, "disable-admission-plugins", nil, "admission `plugins` that are not to run, separated by commas: DenyServiceExternalIPs lets Services have externalIPs, and others of kube-apiserver's")
	flags.StringSliceVar(&c.Disable, "disable", nil, "`parts` that are not to run, separated by commas: some of "+strings.Join(cluster.Parts(), ", "))
	flags.StringVar(&c.Manifests, "manifests", "", "`folder` whose manifests are applied, now and when they change")
	commandline.DurationVar(flags, &c.Backup.Every, "backup-every", 0, "`time` between scheduled backups, such as 6h; without it there are none")
	flags.IntVar(&c.Backup.Keep, "backup-keep", 5, "how many scheduled backups are kept: the newest `number`")
	flags.StringVar(&c.Backup.Dir, "backup-dir", "", "`folder` of scheduled backups; ROOT/backups")
	flags.IntVar(&c.Simulated.Count, "simulated-nodes", 0, "how many nodes there are beside this machine's on which pods live without containers: a `number`")
	flags.Float64Var(&c.Simulated.Speed, "simulated-speed", 1, "how many times as fast as in real time pods live on simulated nodes: a `number` above 0")
	flags.StringArrayVar(&c.Simulated.Scenarios, "simulated-scenario", nil, "`FILE` that says what happens to pods on simulated nodes, NAME=FILE, or NAMESPACE/NAME=FILE: as --scenario of lifepod sim nodes")
	flags.StringVar(&c.Simulated.NodeScenario, "simulated-node-scenario", "", "`file` that says what happens to simulated nodes: as --node-scenario of lifepod sim nodes")
	flags.StringVar(&c.Context, "write-kubeconfig", "", "put the cluster into your kubeconfig, as a context of this `name`; without one as "+cluster.Name)
	flags.Lookup("write-kubeconfig").NoOptDefVal = cluster.Name
	commandline.DurationVar(flags, &c.NodeGrace, "node-monitor-grace-period", 50*time.Second, "how much `time` a node may be silent before it is not ready; nodes tell of themselves every 10s")
	flags.StringSliceVar(&c.Etcd.Endpoints, "etcd-endpoints", nil, "`URLs` of an etcd cluster with the state, instead of an etcd of its own")
	flags.StringVar(&c.Etcd.CAFile, "etcd-cafile", "", "`file` with the authority of the certificates of --etcd-endpoints")
	flags.StringVar(&c.Etcd.CertFile, "etcd-certfile", "", "`file` with the client certificate for --etcd-endpoints")
	flags.StringVar(&c.Etcd.KeyFile, "etcd-keyfile", "", "`file` with the key of --etcd-certfile")
	flags.StringVar(&c.Etcd.Prefix, "etcd-prefix", state.DefaultPrefix, "begin of all `keys` in --etcd-endpoints")
	flags.BoolVar(&c.Server, "server", false, "be one more server of the cluster in --etcd-endpoints, which another machine has begun")
	flags.StringVar(&c.Keys, "keys", "", "`folder` with a copy of ROOT/cluster/pki of another server, for --server")
	commandline.DurationVar(flags, &c.Lease, "leader-elect-lease-duration", lead.DefaultLease, "how long the leader of several servers may be silent")
	_ = flags.MarkHidden("leader-elect-lease-duration") // for tests
}

func printReady(out io.Writer, root string, r cluster.Ready) {
	lifepod := "lifepod " + rootFlag(root)
	if os.Getenv("SUDO_USER") != "" {
		lifepod = "sudo " + lifepod
	}
	node := "no node on this machine"
	if r.Node != "" {
		node = "node " + r.Node
	}
	fmt.Fprintf(out, `Kubernetes is ready after %.1f s: %s, %s

  export KUBECONFIG=%s
  %skubectl get pods -A     # needs no installed kubectl
  %sdown                    # ends it, with its pods
`, r.Took.Round(100*time.Millisecond).Seconds(), r.Server, node, r.Kubeconfig, lifepod, lifepod)
}

// rootFlag is what further commands have to be given to mean the same cluster.
func rootFlag(root string) string {
	if command := newRootCommand(); command.PersistentFlags().Lookup("root").DefValue == root {
		return ""
	}
	return "--root " + root + " "
}

// addCNIFlags adds those of another pod network than the bundled one. The kubelet had
// flags of these names once.
func addCNIFlags(command *cobra.Command, c *bundle.CNI) {
	command.Flags().StringVar(&c.ConfDir, "cni-conf-dir", "", "`folder` of the configuration of a CNI network, instead of the bundled one")
	command.Flags().StringVar(&c.BinDir, "cni-bin-dir", bundle.DefaultCNIBin, "`folder` of the plugins of --cni-conf-dir")
}
