package config

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
	kubeletconfig "k8s.io/kubelet/config/v1beta1"
)

// PodCertificateRequest is the gate of podCertificate sources of volumes (A-CERT-1).
const PodCertificateRequest = "PodCertificateRequest"

// PodsAPI is the gate of the API of pods at a socket (A-NODE-8).
const PodsAPI = "PodsAPI"

// SELinuxMount is the gate of mounts with an SELinux label for volumes of every access mode (A-CSI-18).
const SELinuxMount = "SELinuxMount"

// gate is a feature gate: what Kubernetes 1.37 lets it be, and what lifepod behaves
// as, which most gates don't change.
type gate struct {
	locked    state // the only value it may have; unsaid if both are allowed
	here      state // unsaid if it concerns no node
	byDefault state // of one that lifepod follows: what it is unless it is set; unsaid is off
}

type state int

const (
	unsaid state = iota
	on
	off
	mixed // neither value says what lifepod does
	free  // lifepod does as the gate says
)

func stateOf(enabled bool) state {
	if enabled {
		return on
	}
	return off
}

func (s state) String() string { return [...]string{"unsaid", "true", "false", "mixed", "free"}[s] }

// Enabled says whether a feature gate that lifepod follows is on.
func Enabled(k *kubeletconfig.KubeletConfiguration, name string) bool {
	if enabled, set := k.FeatureGates[name]; set {
		return enabled
	}
	return gates[name].byDefault == on
}

// KnownGate says whether the kubelet of Kubernetes 1.37 has a feature gate.
func KnownGate(name string) bool {
	_, known := gates[name]
	return known
}

// validateGates refuses what the kubelet refuses.
func validateGates(set map[string]bool, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, name := range slices.Sorted(maps.Keys(set)) {
		known, ok := gates[name]
		switch {
		case !ok:
			errs = append(errs, field.Invalid(path.Key(name), set[name], "is no feature gate of Kubernetes 1.37"))
		case known.locked != unsaid && known.locked != stateOf(set[name]):
			errs = append(errs, field.Invalid(path.Key(name), set[name], fmt.Sprintf("is locked to %s since it is no longer a choice", known.locked)))
		}
	}
	return errs
}

// gatesNotFollowed says which gates are set against what lifepod does.
func gatesNotFollowed(set map[string]bool) []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(set)) {
		here := gates[name].here
		switch here {
		case unsaid, free, stateOf(set[name]):
		case mixed:
			out = append(out, fmt.Sprintf("featureGates[%s] (every feature is as lifepod has it)", name))
		default:
			out = append(out, fmt.Sprintf("featureGates[%s] (lifepod always behaves as with %s)", name, here))
		}
	}
	return out
}
