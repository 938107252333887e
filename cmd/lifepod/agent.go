package main

import (
	"log/slog"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/lifepod/lifepod/bundle"
	"github.com/lifepod/lifepod/internal/commandline"
	"github.com/lifepod/lifepod/internal/notify"
	"github.com/lifepod/lifepod/node"
	"github.com/lifepod/lifepod/node/config"
	"github.com/lifepod/lifepod/run"
)

// newAgentCommand is "lifepod agent".
func newAgentCommand(g *global) *cobra.Command {
	var o node.Options
	command := &cobra.Command{
		Use:   "agent [flags]",
		Short: "Run the pods of a node: in the kubelet's place, or those of a folder",
		Long: `Run the pods of a node, in the kubelet's place, until it is stopped.

With --kubeconfig (or --bootstrap-kubeconfig) this machine is a node of that
cluster, with the kubelet's configuration file as it is (--config). Without one
it runs the static pods of a folder (--manifests, or staticPodPath).

SIGTERM ends lifepod and leaves the pods running; the next lifepod agent goes on
with them, also after kill -9 or a reboot.`,
		Args:              commandline.Arguments(0, 0),
		ValidArgsFunction: cobra.NoFileCompletions,

		RunE: func(command *cobra.Command, _ []string) error {
			log, err := g.agentLogger(command)
			if err != nil {
				return err
			}
			o.Root, o.RuntimeEndpoint, o.Log, o.Service = g.root, g.endpoint, log, notify.Take(log)
			o.Logs = func(format string, verbosity uint32) *slog.Logger {
				log = g.configuredLogger(command, format, verbosity)
				return log
			}
			o.Version, o.Foreign, o.Flags = version, run.Owner(g.root), givenFlags(command)
			return node.Run(command.Context(), o, func() {
				log.Info("lifepod agent runs", "version", version)
				o.Service.Ready(command.Context())
			})
		},
	}
	flags := command.Flags()
	flags.StringVar(&o.Kubeconfig, "kubeconfig", "", "credentials of the node at its API `file`; written when the node joins")
	flags.StringVar(&o.BootstrapKubeconfig, "bootstrap-kubeconfig", "", "credentials to join with, if --kubeconfig is not there or has expired: `file`")
	flags.StringVar(&o.ConfigFile, "config", "", "KubeletConfiguration `file`")
	flags.StringVar(&o.ConfigDir, "config-dir", "", "`folder` of drop-ins for --config, *.conf")
	flags.StringVar(&o.Manifests, "manifests", "", "`folder` or file of static pods, as staticPodPath of the configuration")
	flags.StringVar(&o.RootDir, "root-dir", "", "`folder` of the pods' files; /var/lib/kubelet in a cluster, else --root")
	flags.StringVar(&o.CertDir, "cert-dir", "", "`folder` of certificates; pki below --root-dir if empty")
	flags.StringVar(&o.HostnameOverride, "hostname-override", "", "`name` of the node, instead of the machine's")
	flags.StringVar(&o.NodeIP, "node-ip", "", "`address` of the node, or one of each family")
	flags.StringVar(&o.NodeLabels, "node-labels", "", "labels that the Node is registered with: `k=v,…`")
	flags.StringVar(&o.RegisterWithTaints, "register-with-taints", "", "taints that the Node is registered with: `k=v:effect,…`")
	flags.StringVar(&o.CredentialProviderConfig, "image-credential-provider-config", "", "CredentialProviderConfig `file` or folder")
	flags.StringVar(&o.CredentialProviderBinDir, "image-credential-provider-bin-dir", "", "`folder` of credential provider plugins")
	flags.Var(&o.OCIRuntime, "runtime", bundle.RuntimeUsage)
	addCNIFlags(command, &o)
	addKubeletFlags(command, g)
	return command
}

// addCNIFlags adds those of another pod network than the bundled one. The kubelet had
// flags of these names once.
func addCNIFlags(command *cobra.Command, o *node.Options) {
	command.Flags().StringVar(&o.CNI.ConfDir, "cni-conf-dir", "", "`folder` of the configuration of a CNI network, instead of the bundled one")
	command.Flags().StringVar(&o.CNI.BinDir, "cni-bin-dir", bundle.DefaultCNIBin, "`folder` of the plugins of --cni-conf-dir")
}

// addKubeletFlags adds what kubelets are started with and means the same here, or
// nothing any more, so that their environment files can stay as they are.
func addKubeletFlags(command *cobra.Command, g *global) {
	flags := command.Flags()
	flags.StringVar(&g.endpoint, "container-runtime-endpoint", "", "as --runtime-endpoint")
	ignored := ""
	flags.StringVar(&ignored, "pod-infra-container-image", "", "the runtime has its own")
	for _, name := range []string{"container-runtime-endpoint", "pod-infra-container-image"} {
		_ = flags.MarkHidden(name)
	}
}

// givenFlags are the flags as they were given, for who asks the node (/flagz).
func givenFlags(command *cobra.Command) map[string]string {
	given := map[string]string{}
	command.Flags().Visit(func(f *pflag.Flag) { given[f.Name] = f.Value.String() })
	return given
}

// debugVerbosity is from which verbosity on a kubelet tells details, too.
const debugVerbosity = 4

// configuredLogger is the log as a KubeletConfiguration wants it. --log-level goes
// before its verbosity.
func (g *global) configuredLogger(command *cobra.Command, format string, verbosity uint32) *slog.Logger {
	level := slog.LevelInfo
	switch {
	case command.Flags().Changed("log-level"):
		_ = level.UnmarshalText([]byte(g.logLevel)) // it was read before
	case verbosity >= debugVerbosity:
		level = slog.LevelDebug
	}
	options := &slog.HandlerOptions{Level: level}
	if format == config.JSONLog {
		return slog.New(slog.NewJSONHandler(os.Stderr, options))
	}
	return slog.New(slog.NewTextHandler(os.Stderr, options))
}

// agentLogger logs what happens to pods as well, unless less is asked for.
func (g *global) agentLogger(command *cobra.Command) (*slog.Logger, error) {
	if !command.Flags().Changed("log-level") {
		g.logLevel = "info"
	}
	return g.logger()
}
