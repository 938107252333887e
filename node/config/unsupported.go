package config

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Warning is one sentence about everything that is set and not supported, for the
// log at the start; "" if there is nothing.
func (c *Config) Warning() string {
	fields := c.Unsupported()
	if len(fields) == 0 {
		return ""
	}
	return "not supported, without effect: " + strings.Join(fields, "; ")
}

// Unsupported are the fields that are set to something other than the default and
// that lifepod does nothing about, sorted, each with the reason.
func (c *Config) Unsupported() []string {
	var out []string
	for _, path := range c.changed(isUnsupported) {
		out = append(out, fmt.Sprintf("%s (%s)", path, fields[path].by))
	}
	out = append(out, c.partlyUnsupported()...)
	slices.Sort(out)
	return append(out, gatesNotFollowed(c.Kubelet.FeatureGates)...)
}

// partlyUnsupported are the values of fields that are honoured with others.
func (c *Config) partlyUnsupported() []string {
	var out []string
	say := func(path string) { out = append(out, fmt.Sprintf("%s (%s)", path, fields[path].by)) }
	if !maps.Equal(c.Kubelet.EvictionHard, defaults().EvictionHard) {
		say("evictionHard")
	}
	return out
}

// refusals are errors for fields of which lifepod has the default only.
func (c *Config) refusals() field.ErrorList {
	var errs field.ErrorList
	for _, path := range c.changed(isRefused) {
		errs = append(errs, field.Forbidden(field.NewPath(path), "not supported: "+fields[path].by))
	}
	return errs
}

// changed are the fields of a kind that don't have their default, sorted.
func (c *Config) changed(kind treatmentKind) []string {
	// The defaults are taken as they are, since Default itself asks for refusals.
	standard := leaves(reflect.ValueOf(defaults()).Elem())
	is := leaves(reflect.ValueOf(c.Kubelet).Elem())
	var out []string
	for path, t := range fields {
		if t.kind == kind && !apiequality.Semantic.DeepEqual(is[path], standard[path]) {
			out = append(out, path)
		}
	}
	slices.Sort(out)
	return out
}
