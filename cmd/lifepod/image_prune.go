package main

import (
	"fmt"
	"slices"
	"strings"

	units "github.com/docker/go-units"
	"github.com/spf13/cobra"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/internal/commandline"
	"github.com/lifepod/lifepod/internal/plain"
)

func newImagePruneCommand(open openImages) *cobra.Command {
	var all bool
	command := &cobra.Command{
		Use:   "prune",
		Short: "Remove images that have no tag and that no container uses",
		Args:  commandline.Arguments(0, 0),

		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(command *cobra.Command, _ []string) error {
			return withImages(command.Context(), open, func(session *imageSession) error { return session.prune(command, all) })
		},
	}
	command.Flags().BoolVarP(&all, "all", "a", false, "also images with a tag")
	return command
}

func (s *imageSession) prune(command *cobra.Command, all bool) error {
	ctx := command.Context()
	list, err := s.Store.List(ctx)
	if err != nil {
		return err
	}
	containers, err := s.containers(ctx)
	if err != nil {
		return err
	}
	bytes := int64(0)
	for _, image := range list {
		used := slices.ContainsFunc(containers, func(c *runtimeapi.Container) bool { return usesImage(c, &image) })
		if image.Pinned || used || len(image.Tags) > 0 && !all {
			continue
		}
		if err := s.Store.Remove(ctx, image.ID); err != nil {
			return err
		}
		name := image.ID
		if len(image.Tags) > 0 {
			name = strings.Join(image.Tags, "\n")
		}
		fmt.Fprintln(command.OutOrStdout(), plain.Text(name))
		bytes += image.SizeBytes
	}
	command.PrintErrf("Total reclaimed space: %s\n", units.HumanSizeWithPrecision(float64(bytes), 3))
	return nil
}
