package register

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// maxNamesPerImage are reported of one image, digests first.
const maxNamesPerImage = 5

// imagesOn lists the images of the machine as a Node has them: the largest
// first, at most most of them unless that is -1.
func imagesOn(ctx context.Context, images ImageService, most int32) ([]v1.ContainerImage, error) {
	ctx, done := context.WithTimeout(ctx, askTimeout)
	defer done()
	response, err := images.ListImages(ctx, &runtimeapi.ListImagesRequest{})
	if err != nil {
		return nil, fmt.Errorf("list the images: %w", err)
	}
	all := response.GetImages()
	slices.SortFunc(all, func(a, b *runtimeapi.Image) int {
		return cmp.Or(cmp.Compare(b.GetSize(), a.GetSize()), strings.Compare(b.GetId(), a.GetId()))
	})
	if most > -1 && int(most) < len(all) {
		all = all[:most]
	}
	var out []v1.ContainerImage
	for _, image := range all {
		names := slices.Concat(image.GetRepoDigests(), image.GetRepoTags())
		out = append(out, v1.ContainerImage{
			Names:     names[:min(len(names), maxNamesPerImage)],
			SizeBytes: int64(image.GetSize()),
		})
	}
	return out, nil
}
