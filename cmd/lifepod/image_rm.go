package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/cri"
	"github.com/lifepod/lifepod/internal/commandline"
	"github.com/lifepod/lifepod/internal/plain"
	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/worker/criconfig"
	"github.com/lifepod/lifepod/worker/images"
)

func newImageRemoveCommand(open openImages, complete completer) *cobra.Command {
	var force bool
	command := &cobra.Command{
		Use:     "rm IMAGE...",
		Aliases: []string{"remove"},
		Short:   "Remove names of images; an image goes with its last name",
		Long: `Remove names of images. An image goes with its last name, or by its ID.

An image that a container uses stays, and so does one that is pinned, unless
--force is given. The containers that use it run on then, but it is missed when
they are restarted.`,
		Args: commandline.Arguments(1, -1),

		ValidArgsFunction: complete,
		RunE: func(command *cobra.Command, args []string) error {
			return withImages(command.Context(), open, func(session *imageSession) error {
				var failures []error
				for _, name := range args {
					removed, err := session.remove(command.Context(), name, force)
					if err != nil {
						failures = append(failures, err)
						continue
					}
					fmt.Fprintln(command.OutOrStdout(), plain.Line(removed))
				}
				return errors.Join(failures...)
			})
		},
	}
	command.Flags().BoolVarP(&force, "force", "f", false, "also if a container uses the image, if it is pinned, or with all its names by its ID")
	return command
}

// remove removes a name of an image, or the image by its ID, and returns what it has
// removed.
func (s *imageSession) remove(ctx context.Context, name string, force bool) (removed string, err error) {
	image, err := s.find(ctx, name)
	if err != nil {
		return "", fmt.Errorf("remove image %q: %w", name, err)
	}
	called := image.Called(name)
	if called == "" && len(image.Tags) > 1 && !force {
		return "", fmt.Errorf("remove image %q: it has several names: remove them by name (%s), or the image with --force", name, strings.Join(image.Tags, ", "))
	}
	rest := image.Without(called)
	whole := called == "" || rest == nil
	if !force {
		if err := s.mayRemove(ctx, image, called, whole); err != nil {
			return "", fmt.Errorf("remove image %q: %w", name, err)
		}
	}
	switch {
	case whole:
		err = s.Store.Remove(ctx, image.ID)
	case s.Untag != nil:
		err = s.Untag(ctx, image.ID, rest...)
	default:
		err = s.notContainerd(fmt.Sprintf("remove image %q", name), "remove one of several names")
	}
	return cmp.Or(called, image.ID), err
}

// mayRemove is why an image, or one of its names, has to stay; nil if it needn't.
func (s *imageSession) mayRemove(ctx context.Context, image *images.Image, name string, whole bool) error {
	if image.Pinned && whole {
		return errors.New("it is pinned, because the runtime itself needs it: --force removes it all the same")
	}
	users, err := s.users(ctx, image, name, whole)
	if err != nil || len(users) == 0 {
		return err
	}
	return fmt.Errorf("it is used by %s: stop the pod, or remove the image with --force", strings.Join(users, ", "))
}

// users are the containers that use an image, if it is to go, or that were given it
// by one of its names.
func (s *imageSession) users(ctx context.Context, image *images.Image, name string, whole bool) ([]string, error) {
	list, err := s.containers(ctx)
	if err != nil {
		return nil, err
	}
	var users []string
	for _, c := range list {
		if !usesImage(c, image) || !whole && images.FullName(c.GetImage().GetUserSpecifiedImage()) != name {
			continue
		}
		labels := c.Labels
		user := fmt.Sprintf("container %s of pod %s/%s", labels[criconfig.ContainerNameLabel], labels[criconfig.PodNamespaceLabel], labels[criconfig.PodNameLabel])
		if !slices.Contains(users, user) { // an instance before may be there, too
			users = append(users, user)
		}
	}
	return users, nil
}

// containers are those of the runtime, also those that have ended.
func (s *imageSession) containers(ctx context.Context) ([]*runtimeapi.Container, error) {
	if s.Runtime == nil {
		return nil, nil
	}
	list, err := s.Runtime.ListContainers(ctx, &runtimeapi.ListContainersRequest{})
	if err != nil {
		return nil, fmt.Errorf("list the containers: %s", cri.Text(err))
	}
	return list.Containers, nil
}

func usesImage(c *runtimeapi.Container, image *images.Image) bool {
	return c.ImageId == image.ID || c.ImageRef == image.ID || slices.Contains(image.Digests, c.ImageRef)
}

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
