package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/bundle"
	"github.com/lifepod/lifepod/cri"
	"github.com/lifepod/lifepod/doctor"
	"github.com/lifepod/lifepod/host"
	"github.com/lifepod/lifepod/internal/commandline"
	"github.com/lifepod/lifepod/internal/plain"
	"github.com/lifepod/lifepod/leftovers"
	"github.com/lifepod/lifepod/node"
	"github.com/lifepod/lifepod/unattended"
)

// errChecksFailed ends "lifepod doctor" with exit code 1; its findings are
// printed already.
var errChecksFailed = errors.New("some checks failed")

// errNotChecked ends it with exit code 2.
var errNotChecked = errors.New("some checks could not be made")

// doctorHost is what "lifepod doctor" needs to know from the persistent flags.
type doctorHost struct {
	// Options are read once the flags are parsed.
	Options func() (doctor.Options, error)
	// Sweep removes what a killed lifepod left below the root and returns it;
	// it refuses while a lifepod uses the root. nil: --sweep isn't offered.
	Sweep func(ctx context.Context) ([]leftovers.Leftover, error)
}

// newDoctorCommand is "lifepod doctor".
func newDoctorCommand(on doctorHost) *cobra.Command {
	var output string
	var sweep bool
	command := &cobra.Command{
		Use:   "doctor",
		Short: "Check whether this machine can run pods, and say what to do about it",
		Long: "Check whether this machine can run pods, and say what to do about each finding.\n" +
			"Exits with 1 if a check fails, with 2 if none fails but some could not be made, as without root.",
		Args:              commandline.Arguments(0, 0),
		ValidArgsFunction: cobra.NoFileCompletions,

		RunE: func(command *cobra.Command, _ []string) error {
			if err := commandline.CheckOutput(output, "json"); err != nil {
				return err
			}
			if sweep {
				if err := sweepLeftovers(command, on); err != nil {
					return err
				}
			}
			return examine(command, on, output)
		},
	}
	command.Flags().StringVarP(&output, "output", "o", "", "`format`: json instead of text")
	if on.Sweep != nil {
		command.Flags().BoolVar(&sweep, "sweep", false, "first end the pods of lifepods that were killed, and remove what is left of them")
	}
	return command
}

func sweepLeftovers(command *cobra.Command, on doctorHost) error {
	swept, err := on.Sweep(command.Context())
	if err != nil && command.Context().Err() != nil {
		return fmt.Errorf("%w: remove leftovers: %w", errInterrupted, err)
	}
	if err != nil {
		return fmt.Errorf("remove leftovers: %w", err)
	}
	for _, leftover := range swept {
		fmt.Fprintln(command.ErrOrStderr(), "removed", plain.Line(fmt.Sprint(leftover)))
	}
	return nil
}

func examine(command *cobra.Command, on doctorHost, output string) error {
	options, err := on.Options()
	if err != nil {
		return err
	}
	results := doctor.Run(command.Context(), options)
	if command.Context().Err() != nil {
		return errInterrupted
	}
	printResults := doctor.Print
	if output == "json" {
		printResults = doctor.PrintJSON
	}
	if err := printResults(command.OutOrStdout(), results); err != nil {
		return err
	}
	switch {
	case doctor.Failed(results):
		return errChecksFailed
	case doctor.Unchecked(results):
		return errNotChecked
	}
	return nil
}

// doctorOptions are the checks of a root and of the runtime that it uses: the
// bundled one, or the one at endpoint.
func doctorOptions(root, endpoint string) (doctor.Options, error) {
	paths, err := bundle.Locate(root, "")
	if err != nil {
		return doctor.Options{}, err
	}
	return doctor.Options{
		Root:   paths.Root,
		Bridge: bridgeOf(paths, endpoint),
		Runtime: func(ctx context.Context) (string, error) {
			if endpoint != "" {
				return askRuntime(ctx, endpoint)
			}
			return askBundled(ctx, paths)
		},
		Crun:  func(ctx context.Context) (bundle.InstalledCrun, error) { return bundle.UsableCrun(ctx, "", false) },
		InUse: func() (bool, error) { return rootInUse(paths) },
		Leftovers: func(ctx context.Context) ([]leftovers.Leftover, error) {
			return leftovers.Find(ctx, host.LeftoverPlace(paths))
		},
		Unattended:   func() []unattended.Pod { return leftIn(paths.Root) },
		SweepCommand: bundle.Command(paths.Root, "doctor --sweep"),
	}, nil
}

// bridgeOf is empty with another runtime, which has a network of its own.
func bridgeOf(paths bundle.Paths, endpoint string) string {
	if endpoint != "" {
		return ""
	}
	return paths.Bridge()
}

// sweepRoot ends the pods of killed lifepods, each as its own would have, and removes what is
// left below a root; it fails with [bundle.ErrInUse] while a lifepod uses it.
func sweepRoot(ctx context.Context, root string, log *slog.Logger) (swept []leftovers.Leftover, err error) {
	paths, err := bundle.Locate(root, "")
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(paths.Root); errors.Is(err, fs.ErrNotExist) {
		return sweepPlace(ctx, paths) // somebody has removed the folder; nobody can use it
	}
	release, err := excludeLifepods(paths)
	if err != nil {
		return nil, err
	}
	if err := release(); err != nil { // the runtime wants it for itself
		return nil, err
	}
	pods := slices.DeleteFunc(node.Left(paths.Root), func(p unattended.Pod) bool { return p.Endpoint != "unix://"+paths.Socket() })
	if len(pods) > 0 {
		return nil, fmt.Errorf("pod %s would be ended: %s: %s", pods[0].FullName(), pods[0].Why(fmt.Sprintf), pods[0].Advice(fmt.Sprintf))
	}
	_, failed := endPods(ctx, paths, downOptions{root: root, log: log})
	if ctx.Err() != nil {
		return nil, failed
	}
	if release, err = excludeLifepods(paths); err != nil { // what could not be ended is killed
		return nil, errors.Join(failed, err)
	}
	defer func() { err = errors.Join(err, failed, release()) }()
	return sweepPlace(ctx, paths)
}

func sweepPlace(ctx context.Context, paths bundle.Paths) ([]leftovers.Leftover, error) {
	found, err := leftovers.Find(ctx, host.LeftoverPlace(paths))
	if err != nil {
		return nil, err
	}
	return found, leftovers.Sweep(ctx, found)
}

// rootInUse leaves no folder behind where there was none.
func rootInUse(paths bundle.Paths) (bool, error) {
	if _, err := os.Stat(paths.Root); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	release, err := excludeLifepods(paths)
	if errors.Is(err, bundle.ErrInUse) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	return false, release()
}

// askBundled expects an answer only while a lifepod keeps the runtime up.
func askBundled(ctx context.Context, paths bundle.Paths) (string, error) {
	name, err := askRuntime(ctx, "unix://"+paths.Socket())
	if err == nil {
		return name, nil
	}
	if used, useErr := rootInUse(paths); useErr != nil || !used {
		return "", nil //nolint:nilerr // it isn't meant to run
	}
	return "", err
}

// runtimeAnswer is how long a runtime may take to say who it is.
const runtimeAnswer = 2 * time.Second

// askRuntime returns name and version of a runtime that is ready.
func askRuntime(ctx context.Context, endpoint string) (name string, err error) {
	client, err := cri.Dial(endpoint)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	ctx, cancel := context.WithTimeout(ctx, runtimeAnswer)
	defer cancel()
	if _, err := client.Check(ctx); err != nil {
		return "", fmt.Errorf("%s: %w", endpoint, err)
	}
	version, err := client.Runtime.Version(ctx, &runtimeapi.VersionRequest{})
	if err != nil {
		return "", fmt.Errorf("%s: %s", endpoint, cri.Text(err))
	}
	return version.RuntimeName + " " + version.RuntimeVersion, nil
}

// doctorHost is what "lifepod doctor" needs to know of the flags.
func (g *global) doctorHost() doctorHost {
	return doctorHost{
		Options: func() (doctor.Options, error) { return doctorOptions(g.root, g.endpoint) },
		Sweep: func(ctx context.Context) ([]leftovers.Leftover, error) {
			log, err := g.logger()
			if err != nil {
				return nil, err
			}
			return sweepRoot(ctx, g.root, log)
		},
	}
}
