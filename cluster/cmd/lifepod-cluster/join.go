package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/lifepod/lifepod/bundle"
	"github.com/lifepod/lifepod/cluster"
	"github.com/lifepod/lifepod/cluster/proxy"
	"github.com/lifepod/lifepod/internal/commandline"
	"github.com/lifepod/lifepod/internal/notify"
	"github.com/lifepod/lifepod/internal/rootfolder"
	"github.com/lifepod/lifepod/node"
	"github.com/lifepod/lifepod/node/join"
	"github.com/lifepod/lifepod/node/register"
	"github.com/lifepod/lifepod/run"
	"github.com/lifepod/lifepod/unattended"
)

// joining is "lifepod join".
type joining struct {
	node       node.Options
	invitation join.Invitation
	folder     join.Folder
	secret     tokenSource
	root       string // as it was given
	log        *slog.Logger
}

func newJoinCommand(g *global) *cobra.Command {
	var j joining
	command := &cobra.Command{
		Use:   "join [https://HOST:PORT] [--ca-hash sha256:… --token-file FILE]",
		Short: "Make this machine a node of a cluster, by a token",
		Long: `Make this machine a node of the cluster at an address, and run its pods until it
is stopped. lifepod token create --print-join-command, on a machine of the cluster,
prints the whole command; tokens of kubeadm do as well.

The token is read from --token-file (- is the standard input) or from the variable
LIFEPOD_TOKEN. With --token everybody on this machine can see it in the list of
processes. It is needed once: from then on "lifepod join" goes on as the same node.`,
		Args: commandline.Arguments(0, 1),

		ValidArgsFunction: cobra.NoFileCompletions,

		RunE: func(command *cobra.Command, args []string) error {
			if !command.Flags().Changed("log-level") { // what happens to pods, too
				g.logLevel = "info"
			}
			log, err := g.logger()
			if err != nil {
				return err
			}
			j.log, j.folder = log, join.Folder{Dir: rootfolder.Join.In(g.root)}
			if g.root != bundle.DefaultRoot { // the usual folder of logs is another node's, or may be
				j.folder.Logs = rootfolder.Logs.In(g.root)
			}
			j.root, j.node.Root = g.root, g.root
			j.node.Version, j.node.Foreign, j.node.Log = version(), run.Owner(g.root), log
			j.node.Command = unattended.Join
			j.node.Bundled = j.node.RuntimeEndpoint == ""
			j.node.Flags = givenFlags(command)
			delete(j.node.Flags, "token") // /flagz would show it
			if len(args) > 0 {
				j.invitation.Server = strings.TrimSuffix(args[0], "/")
			}
			j.secret.in = command.InOrStdin()
			return j.run(command.Context())
		},
	}
	flags := command.Flags()
	flags.StringArrayVar(&j.invitation.Hashes, "ca-hash", nil, "`sha256:…`: digest of the public key of the cluster's authority; may be repeated")
	flags.BoolVar(&j.invitation.Unpinned, "insecure-skip-ca-verification", false, "trust whoever knows the token to be the cluster")
	flags.StringVar(&j.secret.file, "token-file", "", "`file` with the token, ID.SECRET; - is the standard input")
	flags.StringVar(&j.secret.text, "token", "", "the `token` itself: seen in the list of processes, prefer --token-file")
	flags.StringVar(&j.node.RuntimeEndpoint, "runtime-endpoint", "", "`unix:///path` of a CRI runtime to use instead of the bundled containerd")
	flags.StringVar(&j.node.HostnameOverride, "hostname-override", "", "`name` of the node, instead of the machine's")
	flags.StringVar(&j.node.NodeIP, "node-ip", "", "`address` of the node, or one of each family")
	flags.StringVar(&j.node.NodeLabels, "node-labels", "", "labels that the Node is registered with: `k=v,…`")
	flags.StringVar(&j.node.RegisterWithTaints, "register-with-taints", "", "taints that the Node is registered with: `k=v:effect,…`")
	flags.StringVar(&j.node.ConfigFile, "config", "", "KubeletConfiguration `file` over the cluster's configuration of nodes")
	flags.Int32Var(&j.node.Port, "port", 0, "`port` of the node's API, instead of the configuration's")
	flags.StringVar(&j.node.ConfigDir, "config-dir", "", "`folder` of drop-ins for the cluster's configuration of nodes, *.conf")
	addCNIFlags(command, &j.node.CNI)
	flags.Var(&j.node.OCIRuntime, "runtime", bundle.RuntimeUsage)
	return command
}

func (j *joining) run(ctx context.Context) error {
	if j.node.Port < 0 || j.node.Port > 65535 {
		return fmt.Errorf("--port %d: want a port, such as 10250", j.node.Port)
	}
	if j.invitation.Server != "" {
		if err := join.ValidServer(j.invitation.Server); err != nil {
			return err
		}
	}
	state, err := j.folder.State()
	if err != nil {
		return err
	}
	if j.invitation.Server != "" && state.Server != "" && state.Server != j.invitation.Server {
		return fmt.Errorf("this machine is a node of %s already: want another --root for %s, or remove %s to leave that cluster", state.Server, j.invitation.Server, j.folder.Dir)
	}
	if err := j.accept(ctx, state); err != nil {
		return err
	}
	network, err := j.folder.Network()
	if err != nil {
		return err
	}
	if network.Pods.IsValid() {
		if err := proxy.Check(); err != nil {
			return err
		}
	}
	o := j.node
	o.Service = notify.Take(j.log)
	o.Kubeconfig, o.BootstrapKubeconfig = j.folder.Kubeconfig(), j.folder.Bootstrap()
	o.ConfigBelow, o.CertDir, o.Joined = j.folder.Configuration(), j.folder.CertDir(), j.joined
	return cluster.RunMember(ctx, cluster.Member{Node: o, Network: network}, func() {
		j.log.Info("lifepod join runs", "version", o.Version)
		o.Service.Ready(ctx)
	})
}

// accept uses the token, if it is needed yet.
func (j *joining) accept(ctx context.Context, state join.State) error {
	if state.Member {
		return os.Unsetenv(tokenVariable)
	}
	token, err := j.secret.read()
	switch {
	case err != nil:
		return err
	case token == "" && state.Invited:
		return nil
	case j.invitation.Server == "" && state.Server == "":
		return errors.New("this machine is no node yet: want the address of a cluster, https://HOST:PORT, and a token")
	case token == "":
		return errors.New("a token is needed to join: want --token-file FILE, - for the standard input, or the variable LIFEPOD_TOKEN")
	case j.invitation.Server == "":
		j.invitation.Server = state.Server // its certificate has expired
	}
	j.invitation.Token = token
	found, err := join.Discover(ctx, j.invitation, j.log)
	if err != nil {
		return err
	}
	server, err := found.Version(ctx)
	if err != nil {
		return err
	}
	if err := register.Skew(server); err != nil { // later only a warning: pods run here then
		return fmt.Errorf("join %s: %w", found.Server, err)
	}
	name, err := register.Hostname(j.node.HostnameOverride)
	if err != nil {
		return fmt.Errorf("name of the node: %w", err)
	}
	if state.Server == "" { // else the name is this node's own
		if err := found.NameIsFree(ctx, name); err != nil {
			return err
		}
	}
	configuration, err := found.NodeConfiguration(ctx)
	if err != nil {
		return err
	}
	network, err := found.Network(ctx)
	if err != nil {
		return err
	}
	return j.folder.Write(found, configuration, network)
}

// joined forgets the token and says how the node is started from now on.
func (j *joining) joined() {
	if err := j.folder.Joined(); err != nil {
		j.log.Warn("the token that is not needed any more can't be removed", "err", err)
	}
	j.log.Info("joined the cluster; the next start needs no token", "start", "lifepod "+rootFlag(j.root)+"join")
}

// givenFlags are the flags as they were given, for who asks the node (/flagz).
func givenFlags(command *cobra.Command) map[string]string {
	given := map[string]string{}
	command.Flags().Visit(func(f *pflag.Flag) { given[f.Name] = f.Value.String() })
	return given
}
