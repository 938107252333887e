package main

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/lifepod/lifepod/internal/commandline"
	"github.com/lifepod/lifepod/internal/plain"
	"github.com/lifepod/lifepod/internal/wholefile"
)

func newImageSaveCommand(open openImages, complete completer) *cobra.Command {
	var output string
	command := &cobra.Command{
		Use:   "save [-o FILE] IMAGE...",
		Short: "Write images to an archive, for image load and docker load",
		Args:  commandline.Arguments(1, -1),

		ValidArgsFunction: complete,
		RunE: func(command *cobra.Command, args []string) error {
			stdout := command.OutOrStdout()
			if _, is := plain.Terminal(stdout); is && output == "" {
				return errors.New("an archive is nothing for a terminal: want -o FILE, or a pipe")
			}
			ctx := command.Context()
			return withImages(ctx, open, func(session *imageSession) error {
				if session.Save == nil {
					return session.notContainerd("save images", "write an archive")
				}
				names, err := session.tags(command, args)
				if err != nil {
					return err
				}
				if output == "" {
					return session.Save(ctx, stdout, names...)
				}
				return wholefile.Fill(output, func(file *os.File) error { return session.Save(ctx, file, names...) })
			})
		},
	}
	command.Flags().StringVarP(&output, "output", "o", "", "write to a `file` instead of standard output")
	return command
}

// tags are the names that images are saved by: those that were given, or all of an image that was given by its ID.
func (s *imageSession) tags(command *cobra.Command, args []string) (names []string, err error) {
	for _, arg := range args {
		image, err := s.find(command.Context(), arg)
		switch {
		case err != nil:
			return nil, fmt.Errorf("save image %q: %w", arg, err)
		case slices.Contains(image.Tags, image.Called(arg)):
			names = append(names, image.Called(arg))
		case len(image.Tags) == 0:
			return nil, fmt.Errorf("save image %q: it has no tag, by which it could be loaded: lifepod image tag gives it one", arg)
		default:
			names = append(names, image.Tags...)
		}
	}
	return names, nil
}
