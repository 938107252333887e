package run

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/lifepod/lifepod/host"
	"github.com/lifepod/lifepod/internal/background"
	"github.com/lifepod/lifepod/internal/plain"
	"github.com/lifepod/lifepod/internal/rootfolder"
)

// detach runs the pods in the background, and prints their names once they are there. What is wrong with the manifests is said here.
func detach(ctx context.Context, o Options) error {
	if err := host.CheckStart(o.RuntimeEndpoint); err != nil {
		return err
	}
	var stdin *os.File
	if slices.Contains(o.Files, stdinName) {
		stdin = os.Stdin
	} else if _, err := readManifests(o); err != nil {
		return err
	}
	var begun Begun
	if err := background.Start(ctx, "the pods did not begin", rootfolder.RunLog.In(o.Root), stdin, &begun); err != nil {
		return err
	}
	for _, w := range begun.Warnings {
		_, _ = fmt.Fprintln(o.Stderr, "warning: "+plain.Text(w)) // the pods run, whoever hears of it
	}
	for _, name := range begun.Names {
		if _, err := fmt.Fprintln(o.Stdout, name); err != nil {
			return err
		}
	}
	return nil
}

// inBackground are the options of the process that detach has started: its log has what it says of the pods' lives, and what
// containers write is in their logs.
func (o Options) inBackground(ctx context.Context, own *background.Process) Options {
	go background.Trim(ctx, rootfolder.RunLog.In(o.Root), o.Log)
	o.Stdout, o.Plain = io.Discard, true
	o.Begun = func(b Begun) { own.Ready(b) }
	return o
}
