package run

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"github.com/spf13/cobra"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/lifepod/lifepod/bundle"
	"github.com/lifepod/lifepod/internal/background"
	"github.com/lifepod/lifepod/internal/commandline"
	"github.com/lifepod/lifepod/internal/sentence"
	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/run/story"
	"github.com/lifepod/lifepod/worker/podlog"
)

// GlobalFlags are the flags that all commands of a program have.
type GlobalFlags struct {
	// Root is the state folder, Endpoint that of another CRI runtime than the carried one.
	Root, Endpoint string
	Log            *slog.Logger
}

// NewCommand is "lifepod run" with what the program has set in o already; the pod's exit code goes to
// code. The global flags are asked for after they were parsed. The command is checked in PreRunE,
// so that a program that does something beside it can begin that in RunE.
func NewCommand(o Options, global func() (GlobalFlags, error), code *int) *cobra.Command {
	var logs logFlags
	command := &cobra.Command{
		Use:   "run [flags] FILE|FOLDER|URL|-… | -k FOLDER",
		Short: "Run the Pods of manifests on this machine until they end",
		Long: `Run the Pods of manifests on this machine until they end.

The files hold Pods, or Deployments, ReplicaSets, StatefulSets, DaemonSets, Jobs
and CronJobs, which make them, and the ConfigMaps, Secrets, PersistentVolumeClaims,
RuntimeClass and Services that they use, as YAML or JSON, in any number of documents. Of a
folder all *.yaml, *.yml and *.json files are read, - is standard input.
Container output goes to stdout, the pods' lifecycle to stderr; of several pods
each line begins with its pod's name. Ctrl-C ends the pods gracefully, a second
one kills them.

On a terminal a single pod that has lived for a second is shown in a live view: states,
countdowns, image pulls, the last lines of each container. Keys: l logs, w why,
r restart, s stop, q quit, ? help. When it ends, its lines are on the terminal as
without it. --plain shows lines, and so does anything else than a terminal.

Exit code: 0 all pods Succeeded; else that of the pod that was the first to
fail: its failing container's own; a Job fails as a whole;
124 --timeout passed; 125 an error of lifepod itself; 130 interrupted or stopped.`,
		Args: someFiles,

		ValidArgsFunction: completeManifest,

		PreRunE: func(command *cobra.Command, files []string) error {
			o.Files = files
			if err := checkFlags(command, &o); err != nil {
				return err
			}
			if err := logs.policy(&o.Logs); err != nil {
				return err
			}
			g, err := global()
			o.Root, o.RuntimeEndpoint, o.Log = g.Root, g.Endpoint, g.Log
			o.Stdin, o.Stdout, o.Stderr = command.InOrStdin(), command.OutOrStdout(), command.ErrOrStderr()
			return err
		},
		RunE: func(command *cobra.Command, _ []string) (err error) {
			*code, err = o.carryOut(command)
			return err
		},
	}
	addFlags(command, &o)
	logs.add(command)
	return command
}

// carryOut runs the pods here or in the background, as this or another process.
func (o Options) carryOut(command *cobra.Command) (code int, err error) {
	ctx, own := command.Context(), background.Take()
	switch {
	case own != nil:
		return Run(ctx, o.inBackground(ctx, own))
	case o.Input:
		return inSession(command, o)
	case !o.Detach:
		return Run(ctx, o)
	}
	begun, err := detach(ctx, o)
	if err != nil {
		return ExitError, err
	}
	for _, name := range begun.Names {
		fmt.Fprintln(o.Stdout, name)
	}
	return 0, nil
}

func addFlags(command *cobra.Command, o *Options) {
	flags := command.Flags()
	flags.StringVarP(&o.Kustomization, "kustomize", "k", "", "run what the kustomization in this `folder` builds, as kubectl apply -k does")
	flags.BoolVarP(&o.Recursive, "recursive", "R", false, "read the folders below a folder, too")
	flags.StringVarP(&o.Output, "output", "o", "", "`format`: json, everything on stdout, one JSON object per line")
	commandline.DurationVar(flags, &o.Timeout, "timeout", 0, "end the pods gracefully after this `duration` and exit with 124")
	flags.BoolVar(&o.FailFast, "fail-fast", false, "end the pods with exit code 125 when an image, a volume or a container's configuration fails, instead of trying again")
	flags.BoolVar(&o.Keep, "keep", false, "leave the pods' logs and volumes on disk, and say where")
	flags.Bool("rm", true, "remove them with the pod; --rm=false is --keep")
	flags.Var((*pullPolicy)(&o.Pull), "pull", "`when` images are pulled, in place of imagePullPolicy: always, missing or never")
	flags.StringArrayVarP(&o.Ports, "publish", "p", nil, "publish a pod's port on the host: `[hostIP:]host:pod[/protocol]`")
	flags.StringArrayVarP(&o.Env, "set-env", "e", nil, "`NAME=VALUE`, an environment variable of all containers; NAME passes on lifepod's own")
	flags.StringArrayVar(&o.EnvFiles, "env-file", nil, "set those of a `file` with such lines")
	flags.BoolVar(&o.Substitute, "substitute", false, "put the values of such variables, else of lifepod's environment, for ${NAME} and ${NAME:-DEFAULT} in manifests; $${NAME} stays ${NAME}")
	flags.StringSliceVar(&o.UnsafeSysctls, "allowed-unsafe-sysctls", nil, "let the pods set these sysctls, too: `names`, or prefixes such as net.core.*")
	flags.BoolVarP(&o.Detach, "detach", "d", false, "run in the background: print the pods' names once they are there; lifepod logs, status, wait and stop go on with them")
	if o.Attach != nil {
		flags.BoolVarP(&o.Input, "stdin", "i", false, "talk to the pod's container that has stdin, or the only one: the pod ends with it, with its exit code")
		flags.BoolVarP(&o.Terminal, "tty", "t", false, "with a terminal, with -i")
	}
	flags.BoolVar(&o.New, "new", false, "start new pods also where some of these manifests were left by a lifepod that was killed")
	flags.BoolVar(&o.Plain, "plain", false, "lines also on a terminal, in place of the live view")
	flags.Var(&o.OCIRuntime, "runtime", bundle.RuntimeUsage)
	flags.StringVar(&o.Name, "name", "", "run the pod under another `name`")
	flags.BoolVarP(&o.Verbose, "verbose", "v", false, "show Kubernetes events and the rules behind each line, too")
	commandline.LanguageVar(flags, &o.Language)
	flags.Bool("explain", false, "show what each rule says when it comes for the first time; implies -v")
}

func someFiles(command *cobra.Command, files []string) error {
	if len(files) == 0 && !command.Flags().Changed("kustomize") {
		return errors.New("no manifest: want lifepod run FILE…, or - for standard input")
	}
	return nil
}

// completeManifest completes the files of lifepod run, and the folders to them.
func completeManifest(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return []cobra.Completion{"yaml", "yml", "json"}, cobra.ShellCompDirectiveFilterFileExt
}

// checkFlags refuses values of flags that lifepod run has no use for.
func checkFlags(command *cobra.Command, o *Options) error {
	if o.Timeout < 0 || o.Timeout == 0 && command.Flags().Changed("timeout") {
		return fmt.Errorf("--timeout %v: want a duration above 0, such as 30s", o.Timeout)
	}
	if o.Kustomization == "" && command.Flags().Changed("kustomize") {
		return errors.New("-k: want the folder of a kustomization")
	}
	if o.Detach && o.Output != "" {
		return errors.New("-d and -o exclude each other: lifepod timeline -o json tells what happened")
	}
	if remove, _ := command.Flags().GetBool("rm"); !remove {
		o.Keep = true
	} else if o.Keep && command.Flags().Changed("rm") {
		return errors.New("--rm and --keep exclude each other")
	}
	switch {
	case o.Terminal && !o.Input:
		return errors.New("-t without -i: want -it for a terminal")
	case o.Input && (o.Detach || o.Output != ""):
		return errors.New("-i excludes -d and -o: lifepod attach -i talks to a container that runs in the background")
	case o.Input && slices.Contains(o.Files, stdinName):
		return errors.New("-i and - exclude each other: standard input is the container's, so the manifest must be a file")
	}
	if o.Output != "" {
		o.Language = sentence.English
	}
	if explain, _ := command.Flags().GetBool("explain"); explain {
		if o.Output != "" {
			return fmt.Errorf("--explain and -o %s exclude each other", o.Output)
		}
		var err error
		o.Verbose = true
		if o.Explain, err = story.NewRules(); err != nil {
			return err
		}
	}
	return commandline.CheckOutput(o.Output, "json")
}

// logFlags are the kubelet's containerLogMaxSize and containerLogMaxFiles.
type logFlags struct {
	maxSize  string
	maxFiles int
}

func (f *logFlags) add(command *cobra.Command) {
	flags := command.Flags()
	flags.StringVar(&f.maxSize, "log-max-size", "10Mi", "rotate a container's log when it exceeds this `quantity` of bytes (containerLogMaxSize)")
	flags.IntVar(&f.maxFiles, "log-max-files", podlog.DefaultRotation().MaxFiles, "log files kept of one container, at least 2 (containerLogMaxFiles)")
}

func (f *logFlags) policy(to *podlog.RotationPolicy) error {
	size, err := resource.ParseQuantity(f.maxSize)
	if err != nil || size.Value() < 1 {
		return fmt.Errorf("--log-max-size %q: want a quantity of bytes above 0, such as 10Mi", f.maxSize)
	}
	if f.maxFiles < 2 {
		return fmt.Errorf("--log-max-files %d: want at least 2, the file that is written and the one before it", f.maxFiles)
	}
	*to = podlog.RotationPolicy{MaxBytes: size.Value(), MaxFiles: f.maxFiles}
	return nil
}

// pullPolicy is an imagePullPolicy by the words that users of docker and podman know.
type pullPolicy v1.PullPolicy

// pullWords are those words.
var pullWords = map[string]v1.PullPolicy{"always": v1.PullAlways, "missing": v1.PullIfNotPresent, "never": v1.PullNever}

func (p *pullPolicy) Set(word string) error {
	policy, found := pullWords[word]
	if !found {
		return errors.New("always, missing or never")
	}
	*p = pullPolicy(policy)
	return nil
}

func (p *pullPolicy) String() string { return string(*p) }
func (*pullPolicy) Type() string     { return "when" }

// setPullPolicy gives all images of a pod this policy, also those of its volumes.
func setPullPolicy(pod *v1.Pod, policy v1.PullPolicy) {
	if policy == "" {
		return
	}
	for _, c := range slices.Concat(pointers(pod.Spec.InitContainers), pointers(pod.Spec.Containers)) {
		c.ImagePullPolicy = policy
	}
	for _, v := range pod.Spec.Volumes {
		if v.Image != nil {
			v.Image.PullPolicy = policy
		}
	}
}

// hintPull tells, once for each container, that an image which is here can be used.
func (p *printer) hintPull(r lifecycle.Report) {
	isHere := r.Because.Kind == lifecycle.BecauseIsHere || r.Because.Kind == lifecycle.BecauseLatestIsHere
	if key := "--pull " + r.Subject; isHere && !p.hinted[key] {
		p.hinted[key] = true
		p.warn("%s: lifepod run --pull never uses the image that is here", r.Subject)
	}
}
