package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/lifepod/lifepod/internal/commandline"
	"github.com/lifepod/lifepod/internal/plain"
	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/worker/images"
)

func newImageTagCommand(open openImages, complete completer) *cobra.Command {
	return &cobra.Command{
		Use:   "tag IMAGE NAME...",
		Short: "Give an image further names",
		Args:  commandline.Arguments(2, -1),

		ValidArgsFunction: complete,
		RunE: func(command *cobra.Command, args []string) error {
			for _, name := range args[1:] { // before anything is done
				if _, err := lifecycle.WithDefaultTag(name); err != nil {
					return err
				}
			}
			ctx := command.Context()
			return withImages(ctx, open, func(session *imageSession) error {
				if session.Tag == nil {
					return session.notContainerd("tag images", "give an image a name")
				}
				image, err := session.find(ctx, args[0])
				if err != nil {
					return fmt.Errorf("tag image %q: %w", args[0], err)
				}
				for _, name := range args[1:] {
					full := images.FullName(name)
					if err := session.Tag(ctx, image.ID, full); err != nil {
						return fmt.Errorf("tag image %q: %w", args[0], err)
					}
					fmt.Fprintln(command.OutOrStdout(), plain.Line(full))
				}
				return nil
			})
		},
	}
}
