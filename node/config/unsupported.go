package config

import (
	"reflect"
	"slices"
	"strings"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Warning is one sentence about everything that is set and has no effect, for the log at
// the start; "" if there is nothing: feature gates that are set against what lifepod does.
func (c *Config) Warning() string {
	gates := gatesNotFollowed(c.Kubelet.FeatureGates)
	if len(gates) == 0 {
		return ""
	}
	return "not supported, without effect: " + strings.Join(gates, "; ")
}

// LogsByDefault says whether the configuration leaves the log as it is.
func (c *Config) LogsByDefault() bool {
	return apiequality.Semantic.DeepEqual(c.Kubelet.Logging, defaults().Logging)
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
