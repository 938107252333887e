package main

import (
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/lifepod/lifepod/run"
)

// newRunCommand is "lifepod run", which can serve a page beside the pod; the pod's exit code
// goes to code.
func newRunCommand(g *global, began time.Time, code *int) *cobra.Command {
	command := run.NewCommand(run.Options{Began: began, BuildKustomization: g.buildKustomization, Attach: g.attachToRun}, func() (run.GlobalFlags, error) {
		log, err := g.logger()
		return run.GlobalFlags{Root: g.root, Endpoint: g.endpoint, Log: log}, err
	}, code)
	command.Annotations = map[string]string{ownsSignals: "true"}
	var page bool
	command.Flags().BoolVar(&page, "ui", false, "show the pods of this machine in a browser as well, as lifepod ui does; the link is printed")
	alone := command.RunE
	command.RunE = func(command *cobra.Command, files []string) error {
		detach, _ := command.Flags().GetBool("detach")
		if input, _ := command.Flags().GetBool("stdin"); (detach || input) && page {
			return errors.New("--ui excludes -d and -i: lifepod ui shows the pods that run in the background")
		}
		return besidePage(g, command, page, func() error { return alone(command, files) })
	}
	return command
}
