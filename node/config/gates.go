package config

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

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

// defaults is a configuration of which nothing was set.
func defaults() *kubeletconfig.KubeletConfiguration {
	c := &kubeletconfig.KubeletConfiguration{}
	setDefaults(c)
	setEvictionDefaults(c)
	return c
}

// leaves are the values of a struct's fields by their paths. Structs of the
// kubelet's own package are gone into, all others are values.
func leaves(of reflect.Value) map[string]any {
	out := map[string]any{}
	gatherLeaves(of, "", out)
	return out
}

var kubeletPackage = reflect.TypeFor[kubeletconfig.KubeletConfiguration]().PkgPath()

func gatherLeaves(of reflect.Value, prefix string, out map[string]any) {
	for i := range of.NumField() {
		name, _, _ := strings.Cut(of.Type().Field(i).Tag.Get("json"), ",")
		if name == "" {
			continue // kind and apiVersion, checked when a file is read
		}
		value, path := of.Field(i), prefix+name
		inner := value.Type()
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		if inner.Kind() != reflect.Struct || inner.PkgPath() != kubeletPackage {
			out[path] = value.Interface()
			continue
		}
		if value.Kind() == reflect.Pointer {
			if value.IsNil() {
				value = reflect.New(inner)
			}
			value = value.Elem()
		}
		gatherLeaves(value, path+".", out)
	}
}
