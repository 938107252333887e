package criconfig

import (
	"fmt"
	"strings"
	"unicode/utf8"

	v1 "k8s.io/api/core/v1"
)

// origin is where a variable's value comes from; zero: the pod's own text, Services or devices.
type origin struct{ kind, name, key string }

func originOf(from *v1.EnvVarSource) origin {
	switch {
	case from.SecretKeyRef != nil:
		return origin{"Secret", from.SecretKeyRef.Name, from.SecretKeyRef.Key}
	case from.ConfigMapKeyRef != nil:
		return origin{"ConfigMap", from.ConfigMapKeyRef.Name, from.ConfigMapKeyRef.Key}
	case from.FileKeyRef != nil:
		return origin{"file", from.FileKeyRef.Path, from.FileKeyRef.Key}
	}
	return origin{}
}

func envFromOrigin(from v1.EnvFromSource, key string) origin {
	if from.SecretRef != nil {
		return origin{"Secret", from.SecretRef.Name, key}
	}
	return origin{"ConfigMap", from.ConfigMapRef.Name, key}
}

func (o origin) String() string {
	if o.kind == "" {
		return ""
	}
	return fmt.Sprintf(" (key %q of %s %q)", o.key, o.kind, o.name)
}

// check refuses what would not reach the container as it is (A-ENV-10). The values of variables are bytes in CRI, but
// all runtimes write a container's process down as JSON, which has text only.
func (r *Environment) check(origins []origin) error {
	for i, v := range r.Env {
		if problem := unpassable(v.Value); problem != "" {
			return fmt.Errorf("environment variable %q%s %s: mount it as a file", v.Name, origins[i], problem)
		}
	}
	for _, list := range []struct {
		name  string
		texts []string
	}{{"command", r.Command}, {"args", r.Args}} {
		for i, text := range list.texts {
			if problem := unpassable(text); problem != "" {
				return fmt.Errorf("%s[%d] %s", list.name, i, problem)
			}
		}
	}
	return nil
}

func unpassable(value string) string {
	switch {
	case strings.Contains(value, "\x00"):
		return "has a zero byte, at which the program would take it to end"
	case !utf8.ValidString(value):
		return "is not UTF-8 text, which runtimes can't pass on unchanged"
	}
	return ""
}
