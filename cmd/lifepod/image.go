package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/distribution/reference"
	units "github.com/docker/go-units"
	"github.com/spf13/cobra"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/cri"
	"github.com/lifepod/lifepod/internal/commandline"
	"github.com/lifepod/lifepod/internal/plain"
	"github.com/lifepod/lifepod/worker/images"
)

// imageSession is a running runtime as the image commands need it.
type imageSession struct {
	Store *images.Store
	// Endpoint is the runtime's socket, named in errors.
	Endpoint string
	// Load takes an archive in and returns the names of its images; nil if the
	// runtime isn't containerd: CRI has no call for it.
	Load func(ctx context.Context, archive io.Reader) ([]string, error)
	// Untag removes names of an image that has others; nil if the runtime isn't
	// containerd: CRI has no call for it.
	Untag func(ctx context.Context, imageID string, names ...string) error
	// Tag gives an image a name, and Save writes an archive of images by their tags; nil if the runtime isn't containerd.
	Tag  func(ctx context.Context, imageID, name string) error
	Save func(ctx context.Context, archive io.Writer, names ...string) error
	// Runtime knows which containers use an image; nil: none is asked for.
	Runtime runtimeapi.RuntimeServiceClient
	// Close ends the session; the runtime is stopped if nobody else uses it.
	Close func() error
}

// openImages connects to the runtime, and starts it where that is needed.
type openImages func(ctx context.Context) (*imageSession, error)

// newImageCommand is "lifepod image".
func newImageCommand(open openImages, complete completer) *cobra.Command {
	command := &cobra.Command{
		Use:   "image",
		Short: "List, pull, load, save, tag and remove container images",
	}
	command.AddCommand(
		newImageListCommand(open),
		newImagePullCommand(open, complete),
		newImageLoadCommand(open), newImageSaveCommand(open, complete),
		newImageTagCommand(open, complete), newImageInspectCommand(open, complete), newImagePruneCommand(open),
		newImageRemoveCommand(open, complete),
	)
	return commandline.Group(command)
}

// withImages opens a session for the time of one call. A signal ends the call,
// not the session, which is closed in good order.
func withImages(ctx context.Context, open openImages, use func(*imageSession) error) error {
	session, err := open(ctx)
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("%w: %w", errInterrupted, err)
	}
	if err != nil {
		return err
	}
	used := use(session)
	if used != nil && ctx.Err() != nil {
		used = errInterrupted // whatever it says follows from that
	}
	return errors.Join(used, session.Close())
}

// find is the image that a user means.
func (s *imageSession) find(ctx context.Context, name string) (*images.Image, error) {
	image, err := s.Store.Inspect(ctx, name)
	switch {
	case err != nil:
		return nil, errors.New(cri.Text(err))
	case image == nil:
		if local := images.LocalName(ctx, s.Store, name); local != "" {
			return nil, fmt.Errorf("%w: it is here as %s", images.ErrNotFound, local)
		}
		return nil, images.ErrNotFound
	}
	return image, nil
}

// notContainerd is that a runtime can't do what containerd can.
func (s *imageSession) notContainerd(doing, call string) error {
	return fmt.Errorf("%s: the runtime at %s is not containerd, and CRI has no call to %s: use the runtime's own tool", doing, s.Endpoint, call)
}

func newImageListCommand(open openImages) *cobra.Command {
	var output string
	command := &cobra.Command{
		Use:     "ls",
		Aliases: []string{"list"},
		Short:   "List the images that the runtime holds",

		ValidArgsFunction: cobra.NoFileCompletions,
		Args:              commandline.Arguments(0, 0),
		RunE: func(command *cobra.Command, _ []string) error {
			if err := commandline.CheckOutput(output, "json", "wide"); err != nil {
				return err
			}
			return withImages(command.Context(), open, func(session *imageSession) error {
				all, err := session.Store.List(command.Context())
				if err != nil {
					return err
				}
				return printImages(command.OutOrStdout(), all, output)
			})
		},
	}
	command.Flags().StringVarP(&output, "output", "o", "", "`format`: json or wide instead of the short table")
	return command
}

func printImages(out io.Writer, all []images.Image, output string) error {
	if output == "json" {
		return printImagesJSON(out, all)
	}
	table := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	header := "IMAGE\tTAG\tIMAGE ID\tSIZE"
	if output == "wide" {
		header += "\tDIGEST\tUSER\tPINNED"
	}
	fmt.Fprintln(table, header)
	for _, image := range all {
		for _, name := range imageNames(image) {
			row := []string{name.repository, name.tag, shortID(image.ID), units.HumanSizeWithPrecision(float64(image.SizeBytes), 3)}
			if output == "wide" {
				row = append(row, imageDigest(image), imageUser(image), fmt.Sprint(image.Pinned))
			}
			for i, cell := range row {
				row[i] = plain.Line(cell)
			}
			fmt.Fprintln(table, strings.Join(row, "\t"))
		}
	}
	return table.Flush()
}

// printImagesJSON uses the names of CRI's own fields.
func printImagesJSON(out io.Writer, all []images.Image) error {
	type row struct {
		ID          string   `json:"id"`
		RepoTags    []string `json:"repoTags"`
		RepoDigests []string `json:"repoDigests"`
		Size        int64    `json:"size"`
		UID         *int64   `json:"uid,omitempty"`
		Username    string   `json:"username,omitempty"`
		Pinned      bool     `json:"pinned"`
	}
	list := struct {
		Images []row `json:"images"`
	}{Images: []row{}}
	for _, image := range all {
		list.Images = append(list.Images, row{
			ID: image.ID, RepoTags: orEmpty(image.Tags), RepoDigests: orEmpty(image.Digests), Size: image.SizeBytes,
			UID: image.UID, Username: image.Username, Pinned: image.Pinned,
		})
	}
	text, err := json.MarshalIndent(list, "", "  ")
	if err == nil {
		_, err = fmt.Fprintf(out, "%s\n", plain.JSON(text))
	}
	return err
}

// orEmpty makes JSON show an empty list, not null.
func orEmpty(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

type imageName struct{ repository, tag string }

// imageNames has one entry per tag, or one for an image that has none.
func imageNames(image images.Image) []imageName {
	var names []imageName
	for _, tag := range image.Tags {
		named, err := reference.ParseNormalizedNamed(tag)
		if err != nil {
			names = append(names, imageName{tag, "<none>"})
			continue
		}
		names = append(names, imageName{named.Name(), strings.TrimPrefix(tag, named.Name()+":")})
	}
	if len(names) > 0 {
		return names
	}
	repository := "<none>"
	if len(image.Digests) > 0 {
		repository, _, _ = strings.Cut(image.Digests[0], "@")
	}
	return []imageName{{repository, "<none>"}}
}

func shortID(id string) string {
	id = strings.TrimPrefix(id, "sha256:")
	return id[:min(len(id), 13)]
}

func imageDigest(image images.Image) string {
	if len(image.Digests) == 0 {
		return "<none>"
	}
	_, digest, _ := strings.Cut(image.Digests[0], "@")
	return digest
}

func imageUser(image images.Image) string {
	switch {
	case image.UID != nil:
		return fmt.Sprint(*image.UID)
	case image.Username != "":
		return image.Username
	default:
		return "0"
	}
}

func newImageLoadCommand(open openImages) *cobra.Command {
	return &cobra.Command{
		Use:   "load FILE|-",
		Short: "Load images from an archive (docker save, or OCI layout)",
		Args:  commandline.Arguments(1, 1),
		RunE: func(command *cobra.Command, args []string) error {
			archive, err := openArchive(command, args[0])
			if err != nil {
				return err
			}
			defer archive.Close()
			return withImages(command.Context(), open, func(session *imageSession) error {
				if session.Load == nil {
					return session.notContainerd("load images", "load an archive")
				}
				names, err := session.Load(command.Context(), archive)
				if err != nil {
					return fmt.Errorf("%s: %w", archiveName(args[0]), err)
				}
				for _, name := range names {
					fmt.Fprintln(command.OutOrStdout(), plain.Line(name))
				}
				return nil
			})
		},
	}
}

// openArchive is asked for before the runtime is, so that a mistyped name
// starts nothing.
func openArchive(command *cobra.Command, name string) (io.ReadCloser, error) {
	if name == "-" {
		return io.NopCloser(command.InOrStdin()), nil
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("load images: %w", err)
	}
	return file, nil
}

func archiveName(argument string) string {
	if argument == "-" {
		return "standard input"
	}
	return argument
}
