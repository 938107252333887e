package images

import (
	"fmt"

	"github.com/distribution/reference"
)

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
