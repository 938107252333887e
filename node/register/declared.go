package register

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/component-helpers/nodedeclaredfeatures"
	declared "k8s.io/component-helpers/nodedeclaredfeatures/types"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// FeaturesOn are the feature gates of declared features that lifepod has on:
// what it does, of what a Node of 1.37 can declare (KEP-5328). It is a new map.
//
//   - RestartAllContainersOnContainerExits: lifecycle's restart rules (KEP-5532).
//
//   - InPlacePodVerticalScalingInitContainers: resize of containers that aren't
//     sidecars among the init containers.
//
//   - InPlacePodLevelResourcesVerticalScaling: resize of a pod as a whole (KEP-5419).
//
//   - ExtendWebSocketsToKubelet: package server takes exec, attach and portForward
//     as WebSockets.
//
// Not on: UserNamespacesHostNetworkSupport, which is alpha.
// The API server refuses what needs it on this node, instead of the node
// doing half of it.
func FeaturesOn() map[string]bool {
	return map[string]bool{
		"RestartAllContainersOnContainerExits":    true,
		"InPlacePodVerticalScalingInitContainers": true,
		"InPlacePodLevelResourcesVerticalScaling": true,
		"ExtendWebSocketsToKubelet":               true,
	}
}

// declaredFeatures are the names for status.declaredFeatures, sorted. They are
// fixed once the runtime has said what it can.
func declaredFeatures(gates map[string]bool, runtime *runtimeapi.RuntimeFeatures) ([]string, error) {
	level, err := version.Parse(Version)
	if err != nil {
		return nil, fmt.Errorf("declare the node's features: %w", err)
	}
	return nodedeclaredfeatures.DefaultFramework.DiscoverNodeFeatures(&nodedeclaredfeatures.NodeConfiguration{
		FeatureGates:    declared.FeatureGateMap(gates),
		Version:         level,
		RuntimeFeatures: declared.RuntimeFeatures{UserNamespacesHostNetwork: runtime.GetUserNamespacesHostNetwork()},
	}), nil
}

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

// mostOlder is how many minor versions a node may be older than its API server, by
// Kubernetes' version skew policy. It may never be newer.
const mostOlder = 3

// Skew is an error if Kubernetes does not support a node of Version with an API server of
// that version, of which the error has the numbers alone.
func Skew(server string) error {
	is, err := version.ParseGeneric(server)
	if err != nil {
		return errors.New("the API server does not tell which version of Kubernetes it is of")
	}
	is = version.MajorMinor(is.Major(), is.Minor())
	node := version.MustParseGeneric(Version)
	switch node = version.MajorMinor(node.Major(), node.Minor()); {
	case is.LessThan(node):
		return fmt.Errorf("the API server is of Kubernetes %s, and this node of %s: Kubernetes supports no node that is newer than its API server", is, node)
	case node.OffsetMinor(mostOlder).LessThan(is):
		return fmt.Errorf("the API server is of Kubernetes %s, and this node of %s: Kubernetes supports nodes that are at most %d minor versions older", is, node, mostOlder)
	}
	return nil
}
