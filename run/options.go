package run

import (
	"io"
	"log/slog"
	"time"

	"github.com/spf13/cobra"
	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/bundle"
	"github.com/lifepod/lifepod/internal/sentence"
	"github.com/lifepod/lifepod/run/story"
	"github.com/lifepod/lifepod/worker/podlog"
)

// Exit codes of lifepod, beside a failed container's or command's own.
const (
	ExitLost        = 123 // the connection to a pod's lifepod was lost
	ExitTimeout     = 124 // --timeout passed
	ExitError       = 125 // lifepod's own error
	ExitInterrupted = 130 // Ctrl-C or SIGTERM
)

// Options are the flags of lifepod run.
type Options struct {
	Files  []string // manifests: files, folders, URLs, - for standard input
	Name   string   // takes the place of metadata.name
	Ports  []string // -p: [hostIP:]host:pod[/protocol]
	Output string   // "" or "json"

	Env        []string // -e: NAME=VALUE, or NAME of this environment, for all containers
	EnvFiles   []string // files of such lines
	Recursive  bool     // -R: of a folder those below, too
	Substitute bool     // ${NAME} in manifests has the value of such a variable, or of this environment

	UnsafeSysctls []string // patterns of those that the pod may set (A-ADM-6)

	Timeout  time.Duration // 0: none
	FailFast bool          // end a pod when something that a container needs can't be had at the first attempt
	Keep     bool          // leave logs and volumes on disk
	Pull     v1.PullPolicy // in place of those in the manifests; empty: theirs count
	Detach   bool          // in the background, as a process of its own
	Input    bool          // -i: the pod runs in the background, and ends with the session that Attach has with its container
	Terminal bool          // -t: the container has a terminal
	New      bool          // don't go on with the pod of a lifepod that was killed
	Plain    bool          // lines also where there is a terminal for the live view
	Verbose  bool          // show rules and Kubernetes events as well
	Explain  *story.Rules  // with Verbose: what rules say when they come for the first time; may be nil

	Language sentence.Language // of what is written for people

	Logs podlog.RotationPolicy // when logs are rotated and how many files are kept

	Root            string // state folder, "" for the default
	RuntimeEndpoint string // another CRI runtime, "" for the bundled one
	OCIRuntime      bundle.OCIRuntime

	// Kustomization is a folder whose kustomization is run as well; empty: none. BuildKustomization builds one; a program
	// without it refuses that.
	Kustomization      string
	BuildKustomization func(dir string) ([]byte, error)

	// Attach has a session with the container of a pod that has input, until it ends, and ends the pod; a program without it refuses -i.
	Attach func(command *cobra.Command, pod string) (code int, err error)

	// Begun is called once, when all pods that do not wait for others are there; may be nil.
	Begun func(Begun)

	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Log            *slog.Logger
	Began          time.Time // when the command was started: +0s of what is shown
}

// Begun is what a run consists of.
type Begun struct {
	Names    []string // of its pods, and of the Jobs that make some
	Warnings []string // about the manifests
	PID      int      // of its process, in the background
}

// command is a command line of lifepod for the same state folder and runtime.
func (o Options) command(words string) string {
	line := bundle.Command(o.Root, words)
	if o.RuntimeEndpoint != "" {
		line += " --runtime-endpoint " + o.RuntimeEndpoint
	}
	return line
}
