package images

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/distribution/reference"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// Remove deletes an image with all its names; ErrNotFound when it is absent.
func (s *Store) Remove(ctx context.Context, image string) error {
	found, err := s.Inspect(ctx, image)
	if err == nil && found == nil {
		err = ErrNotFound
	}
	if err == nil {
		_, err = s.client.RemoveImage(ctx, &runtimeapi.RemoveImageRequest{
			Image: &runtimeapi.ImageSpec{Image: found.ID},
		})
	}
	if err != nil {
		return fmt.Errorf("remove image %q: %w", image, runtimeError(err))
	}
	return nil
}

// FullName is a name of an image as runtimes list it: with its registry, and with a
// tag where it has neither tag nor digest ("docker.io/library/app:latest"). It is
// empty for what is no name.
func FullName(image string) string {
	named, err := reference.ParseNormalizedNamed(image)
	if err != nil {
		return ""
	}
	return reference.TagNameOnly(named).String()
}

// Called is the tag or digest of the image that a user means by a name; empty if it
// is none of its names, but its ID.
func (i *Image) Called(name string) string {
	full := FullName(name)
	if slices.Contains(i.Tags, full) || slices.Contains(i.Digests, full) {
		return full
	}
	return ""
}

// Without are the names that go with one of the image's names while the others stay:
// a repository's digest goes with the last tag in that repository. Nil says that no
// tag would be left, so that the image goes.
func (i *Image) Without(name string) []string {
	left := slices.DeleteFunc(slices.Clone(i.Tags), func(tag string) bool { return tag == name })
	if len(left) == 0 {
		return nil
	}
	gone := []string{name}
	repository := repositoryOf(name)
	if slices.Contains(i.Digests, name) || slices.ContainsFunc(left, func(tag string) bool { return repositoryOf(tag) == repository }) {
		return gone
	}
	for _, digest := range i.Digests {
		if repositoryOf(digest) == repository {
			gone = append(gone, digest)
		}
	}
	return gone
}

func repositoryOf(name string) string {
	named, err := reference.ParseNormalizedNamed(name)
	if err != nil {
		before, _, _ := strings.Cut(name, "@")
		return before
	}
	return named.Name()
}
