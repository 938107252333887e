package images

import (
	"fmt"
	"strings"

	"github.com/distribution/reference"
)

// Normalize gives an image without tag and digest the tag "latest"; nothing
// else about the name changes, no registry is added (A-IMG-1). The error says
// in Kubernetes' words why the name can't be parsed; the container's reason is
// then InvalidImageName.
func Normalize(image string) (string, error) {
	named, err := parseReference(image)
	if err != nil {
		return "", err
	}
	if !reference.IsNameOnly(named) || strings.HasSuffix(image, ":latest") {
		return image, nil
	}
	return image + ":latest", nil
}

// repository is the name that credentials are matched against: registry and
// path in full, without tag and digest ("docker.io/library/busybox").
func repository(image string) (string, error) {
	named, err := parseReference(image)
	if err != nil {
		return "", err
	}
	return named.Name(), nil
}

func parseReference(image string) (reference.Named, error) {
	named, err := reference.ParseNormalizedNamed(image)
	if err != nil {
		return nil, fmt.Errorf("couldn't parse image name %q: %w", image, err)
	}
	return named, nil
}
