package config

import (
	"reflect"
	"strings"

	kubeletconfig "k8s.io/kubelet/config/v1beta1"
)

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
