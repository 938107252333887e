package run

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/lifepod/lifepod/host"
	"github.com/lifepod/lifepod/internal/background"
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
	var names []string
	if err := background.Start(ctx, "the pods did not begin", rootfolder.RunLog.In(o.Root), stdin, &names); err != nil {
		return err
	}
	for _, name := range names {
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
	o.Begun = func(names []string) { own.Ready(names) }
	return o
}
