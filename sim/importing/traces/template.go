package traces

import (
	"encoding/json"
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// known are where the objects of Kubernetes have their pod template.
var known = map[string]string{
	"v1.Pod": "", "batch/v1.CronJob": "/spec/jobTemplate/spec/template", "batch/v1.Job": "/spec/template",
	"apps/v1.DaemonSet": "/spec/template", "apps/v1.Deployment": "/spec/template", "apps/v1.ReplicaSet": "/spec/template",
	"apps/v1.StatefulSet": "/spec/template",
}

// templatesOf are the specs of an owner's pods, as it was applied last.
func (t *trace) templatesOf(o owner) (specs []v1.PodSpec, err error) {
	object, has := t.last[o]
	if !has {
		return nil, nil
	}
	paths := t.templates[o.gvk]
	if path, is := known[o.gvk]; is {
		paths = []string{path}
	}
	for _, path := range paths {
		for _, template := range at(object, strings.Split(strings.TrimPrefix(path, "/"), "/")) {
			fields, _ := template.(map[string]any)
			text, err := json.Marshal(fields["spec"])
			if err != nil {
				return nil, fmt.Errorf("%v: %w", o, err)
			}
			var spec v1.PodSpec
			if err := json.Unmarshal(text, &spec); err != nil {
				return nil, fmt.Errorf("%v: pod template at %q: %w", o, path, err)
			}
			if len(spec.Containers) > 0 {
				specs = append(specs, spec)
			}
		}
	}
	return specs, nil
}

// ownerOf is an object as pods name their owner.
func ownerOf(object map[string]any) owner {
	meta, _ := object["metadata"].(map[string]any)
	text := func(of map[string]any, key string) string {
		s, _ := of[key].(string)
		return s
	}
	return owner{text(object, "apiVersion") + "." + text(object, "kind"), text(meta, "namespace"), text(meta, "name")}
}

// at are the values at a path, of which * is each item of a list.
func at(value any, path []string) []any {
	if len(path) == 0 || path[0] == "" {
		return []any{value}
	}
	switch value := value.(type) {
	case map[string]any:
		if inner, has := value[path[0]]; has {
			return at(inner, path[1:])
		}
	case []any:
		if path[0] != "*" {
			return nil
		}
		var all []any
		for _, item := range value {
			all = append(all, at(item, path[1:])...)
		}
		return all
	}
	return nil
}
