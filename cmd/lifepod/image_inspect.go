package main

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/lifepod/lifepod/internal/commandline"
	"github.com/lifepod/lifepod/internal/plain"
)

func newImageInspectCommand(open openImages, complete completer) *cobra.Command {
	return &cobra.Command{
		Use:   "inspect IMAGE...",
		Short: "Show what images are made of and run, as docker's JSON",
		Args:  commandline.Arguments(1, -1),

		ValidArgsFunction: complete,
		RunE: func(command *cobra.Command, args []string) error {
			ctx := command.Context()
			return withImages(ctx, open, func(session *imageSession) error {
				var list []map[string]any
				for _, arg := range args {
					image, err := session.find(ctx, arg)
					var spec map[string]any
					if err == nil {
						spec, err = session.Store.Spec(ctx, image.ID)
					}
					if err != nil {
						return fmt.Errorf("inspect image %q: %w", arg, err)
					}
					shown := map[string]any{"Id": image.ID, "RepoTags": orEmpty(image.Tags), "RepoDigests": orEmpty(image.Digests), "Size": image.SizeBytes}
					for to, from := range map[string]string{"Created": "created", "Architecture": "architecture", "Os": "os", "Config": "config"} {
						if value, known := spec[from]; known {
							shown[to] = value
						}
					}
					if layers, known := spec["rootfs"].(map[string]any); known {
						shown["RootFS"] = map[string]any{"Type": layers["type"], "Layers": layers["diff_ids"]}
					}
					list = append(list, shown)
				}
				text, err := json.MarshalIndent(list, "", "    ")
				if err == nil {
					_, err = fmt.Fprintf(command.OutOrStdout(), "%s\n", plain.JSON(text))
				}
				return err
			})
		},
	}
}
