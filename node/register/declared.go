package register

import (
	"fmt"

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
