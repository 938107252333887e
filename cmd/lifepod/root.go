package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/lifepod/lifepod/bundle"
	"github.com/lifepod/lifepod/host"
	"github.com/lifepod/lifepod/internal/commandline"
	"github.com/lifepod/lifepod/worker/images"
)

// Set by the build (Makefile).
var (
	version = "devel"
	commit  = "unknown"
)

// kubernetesLevel is the release whose Pod lifecycle lifepod follows.
const kubernetesLevel = "v1.37.2"

// global are the flags that all commands have.
type global struct {
	root     string
	endpoint string
	logLevel string
}

func newRootCommand(began time.Time, code *int) *cobra.Command {
	g := &global{}
	root := &cobra.Command{
		Use:           "lifepod",
		Short:         "Run Kubernetes Pods, exactly and fast",
		SilenceUsage:  true,
		SilenceErrors: true,
		Version:       version,

		PersistentPreRun: cancelOnSignal,
	}
	root.SetFlagErrorFunc(commandline.FlagError)
	commandline.Help(root)
	root.SetVersionTemplate(versionText())
	flags := root.PersistentFlags()
	commandline.ColourVar(flags)
	flags.StringVar(&g.root, "root", bundle.DefaultRoot, "state `folder`; lifepods with different ones don't know of each other")
	flags.StringVar(&g.endpoint, "runtime-endpoint", "", "`unix:///path` of a CRI runtime to use instead of the bundled containerd")
	flags.StringVar(&g.logLevel, "log-level", "warn", "`level` of what lifepod logs of itself to stderr: debug, info, warn or error")
	root.AddCommand(
		newRunCommand(g, began, code),
		newSimCommand(g, g.journal, code),
		newAgentCommand(g),
		newImageCommand(g.openImages, g.completeImage), newTopCommand(g),
		newDoctorCommand(g.doctorHost()),
		newExplainCommand(), newDocsCommand(), newExampleCommand(newRunCommand(g, began, code), newSimCommand(g, g.journal, code)),
		newVersionCommand(),
	)
	root.AddCommand(newControlCommands(g, code)...)
	root.AddCommand(newClusterCommands(code)...)
	g.completeFlags(root)
	return root
}

func (g *global) logger() (*slog.Logger, error) { return commandline.Logger(g.logLevel) }

// openRuntime opens the runtime for a command that isn't run.
func (g *global) openRuntime(ctx context.Context) (*host.Runtime, error) {
	log, err := g.logger()
	if err != nil {
		return nil, err
	}
	return host.Open(ctx, g.root, g.endpoint, log)
}

// runtimeSocket is that of the container runtime; empty if it can't be told.
func (g *global) runtimeSocket() string {
	if g.endpoint != "" {
		return strings.TrimPrefix(g.endpoint, "unix://")
	}
	paths, _ := bundle.Locate(g.root, "") // the pods were found by it
	return paths.Socket()
}

func (g *global) openImages(ctx context.Context) (*imageSession, error) {
	r, err := g.openRuntime(ctx)
	if err != nil {
		return nil, err
	}
	session := &imageSession{
		Store:    images.New(r.Images, images.Options{NodeConfigs: images.DefaultNodeConfigs(), Containerd: r.ContainerdAPI()}),
		Endpoint: r.Endpoint,
		Runtime:  r.Runtime,
		Close:    func() error { return closeRuntime(ctx, r) },
	}
	if r.Containerd {
		session.Load, session.Untag, session.Tag, session.Save = r.LoadImages, r.UntagImage, r.TagImage, r.SaveImages
	}
	return session, nil
}

// closeTimeout is how long the bundled runtime may take to stop.
const closeTimeout = 30 * time.Second

// closeRuntime also closes when the command was interrupted.
func closeRuntime(ctx context.Context, r *host.Runtime) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	if err := r.Close(ctx); err != nil {
		return fmt.Errorf("stop the container runtime: %w", err)
	}
	return nil
}

func newVersionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print lifepod's version and the Kubernetes release it follows",
		Args:  commandline.Arguments(0, 0),

		ValidArgsFunction: cobra.NoFileCompletions,

		RunE: func(command *cobra.Command, _ []string) error {
			_, err := io.WriteString(command.OutOrStdout(), versionText())
			return err
		},
	}
}

func versionText() string {
	return fmt.Sprintf("lifepod %s\ncommit %s\nKubernetes %s\n%s %s/%s\n",
		version, commit, kubernetesLevel, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
