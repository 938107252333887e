package run

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"

	"github.com/spf13/cobra"

	"github.com/lifepod/lifepod/host"
	"github.com/lifepod/lifepod/internal/background"
	"github.com/lifepod/lifepod/internal/commandline"
	"github.com/lifepod/lifepod/internal/pidfd"
	"github.com/lifepod/lifepod/internal/plain"
	"github.com/lifepod/lifepod/internal/rootfolder"
)

// detach runs the pods in the background, and returns when they are there. What is wrong with the manifests is said here.
func detach(ctx context.Context, o Options) (begun Begun, _ error) {
	if err := host.CheckStart(o.RuntimeEndpoint); err != nil {
		return begun, err
	}
	var stdin *os.File
	if slices.Contains(o.Files, stdinName) {
		stdin = os.Stdin
	} else if _, err := readManifests(o); err != nil {
		return begun, err
	}
	if err := background.Start(ctx, "the pods did not begin", rootfolder.RunLog.In(o.Root), stdin, &begun); err != nil {
		return begun, err
	}
	for _, w := range begun.Warnings {
		_, _ = fmt.Fprintln(o.Stderr, o.Language.Say("warning: %s", plain.Text(w))) // the pods run, whoever hears of it
	}
	return begun, nil
}

// inSession runs the pod in the background for as long as its container is talked to. The command's context ends with the first signal.
func inSession(command *cobra.Command, o Options) (int, error) {
	ctx, stop := signal.NotifyContext(command.Context(), commandline.EndSignals()...)
	defer context.AfterFunc(ctx, stop)() // the second one ends this process
	command.SetContext(ctx)
	begun, err := detach(ctx, o)
	if err != nil {
		return ExitError, err
	}
	if own, err := pidfd.OpenPID(begun.PID); err == nil { // else it has ended
		defer own.Close()
		defer func() { _ = own.Wait(context.WithoutCancel(ctx)) }() // until nothing of the pod is left
	}
	return o.Attach(command, begun.Names[0])
}

// inBackground are the options of the process that detach has started: its log has what it says of the pods' lives, and what
// containers write is in their logs.
func (o Options) inBackground(ctx context.Context, own *background.Process) Options {
	go background.Trim(ctx, rootfolder.RunLog.In(o.Root), o.Log)
	o.Stdout, o.Plain = io.Discard, true
	o.Begun = func(b Begun) {
		b.PID = os.Getpid()
		own.Ready(b)
	}
	return o
}
