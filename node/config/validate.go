package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	kubeletconfig "k8s.io/kubelet/config/v1beta1"
)

// checks are the kubelet's own, of the fields that lifepod honours.
var checks = []func(*kubeletconfig.KubeletConfiguration) field.ErrorList{
	validateServer,
	validateTLS,
	validateRegistration,
	validateReservations,
	validateEnforcement,
	validateEviction,
	validateImages,
	validateLogs,
	validateContainers,
	validateExclusive,
	validateDNS,
	validateShutdown,
	validateProcess,
}

// validate says all that is wrong, each with the file that says it.
func (c *Config) validate() error {
	errs := validateGates(c.Kubelet.FeatureGates, field.NewPath("featureGates"))
	errs = append(errs, c.refusals()...)
	for _, check := range checks {
		errs = append(errs, check(c.Kubelet)...)
	}
	var out []error
	for _, err := range errs {
		out = append(out, c.Wrong(err))
	}
	return errors.Join(out...)
}

// Wrong is an error about a field, with the file that sets it.
func (c *Config) Wrong(err *field.Error) error {
	return fmt.Errorf("configuration%s: %w", c.fileOf(err.Field), err)
}

// fileOf is the file that has set a field, behind a space; "" if it is a default.
func (c *Config) fileOf(path string) string {
	first := path
	if end := strings.IndexAny(path, ".["); end >= 0 {
		first = path[:end]
	}
	if file := c.From[first]; file != "" {
		return " " + file
	}
	return ""
}

func below(path ...string) *field.Path { return field.NewPath(path[0], path[1:]...) }

// atLeast refuses numbers below the least.
func atLeast(path string, value, least int32) field.ErrorList {
	if value >= least {
		return nil
	}
	return field.ErrorList{field.Invalid(below(path), value, fmt.Sprintf("should be at least %v", least))}
}

// between refuses numbers outside of a range.
func between(path string, value, least, most int32) field.ErrorList {
	if least <= value && value <= most {
		return nil
	}
	return field.ErrorList{field.Invalid(below(path), value, fmt.Sprintf("should be from %v to %v", least, most))}
}

// oneOf refuses all but the given values.
func oneOf[T ~string](path *field.Path, value T, known ...T) field.ErrorList {
	if slices.Contains(known, value) {
		return nil
	}
	return field.ErrorList{field.NotSupported(path, value, known)}
}

func gather(lists ...field.ErrorList) field.ErrorList {
	var out field.ErrorList
	for _, l := range lists {
		out = append(out, l...)
	}
	return out
}
