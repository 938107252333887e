package traces

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/lifepod/lifepod/sim/importing/stages"
)

// Folder is where the objects are, and Times the file there that says when what is to be done with which: the seconds
// since the trace begins, apply or delete, and the file.
const (
	Folder = "objects"
	Times  = "times.txt"
)

// objects are manifests of what was applied and deleted, in order, and when.
func (t *trace) objects(notes *stages.Notes) (files []File, err error) {
	var times bytes.Buffer
	add := func(e *event, verb string, objects []map[string]any) error {
		if len(objects) == 0 {
			return nil
		}
		var text bytes.Buffer
		for _, object := range objects {
			clean(object, notes)
			document, err := yaml.Marshal(object)
			if err != nil {
				return fmt.Errorf("%v: %w", ownerOf(object), err)
			}
			text.WriteString("---\n")
			text.Write(document)
		}
		name := fmt.Sprintf("%04d-%s.yaml", len(files)+1, verb)
		files = append(files, File{Folder + "/" + name, text.Bytes()})
		fmt.Fprintf(&times, "%d %s %s\n", e.second-t.events[0].second, verb, name)
		return nil
	}
	for i := range t.events {
		e := &t.events[i]
		if err := add(e, "apply", e.applied); err != nil {
			return nil, err
		}
		if err := add(e, "delete", e.deleted); err != nil {
			return nil, err
		}
	}
	t.needs(notes)
	if len(files) > 0 {
		files = append(files, File{Folder + "/" + Times, times.Bytes()})
	}
	return files, nil
}

// clean takes out of an object what a cluster refuses or would misunderstand, because it is of another cluster.
func clean(object map[string]any, notes *stages.Notes) {
	delete(object, "status")
	meta, _ := object["metadata"].(map[string]any)
	for _, field := range []string{
		"uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "managedFields", "selfLink",
	} {
		delete(meta, field)
	}
	if owners, _ := meta["ownerReferences"].([]any); len(owners) > 0 {
		notes.Say("%v: written without its ownerReferences, whose UIDs are of another cluster", ownerOf(object))
	}
	delete(meta, "ownerReferences")
	if spec, _ := object["spec"].(map[string]any); object["kind"] == "Pod" && spec["nodeName"] != nil {
		notes.Say("%v: written without its nodeName: it is scheduled anew", ownerOf(object))
		delete(spec, "nodeName")
	}
}

// needs notes what the cluster must have for the objects.
func (t *trace) needs(notes *stages.Notes) {
	kinds, namespaces := map[string]bool{}, map[string]bool{}
	made := map[string]bool{"": true, "default": true}
	for i := range t.events {
		for _, object := range t.events[i].applied {
			o := ownerOf(object)
			group, _, grouped := strings.Cut(o.gvk, "/")
			if grouped && strings.Contains(group, ".") && !strings.HasSuffix(group, ".k8s.io") {
				kinds[o.gvk] = true
			}
			namespaces[o.namespace] = true
			if o.gvk == "v1.Namespace" {
				made[o.name] = true
			}
		}
	}
	for _, gvk := range slices.Sorted(maps.Keys(kinds)) {
		notes.Say("%s: the cluster must have its CustomResourceDefinition and controller, which are not in the trace", gvk)
	}
	for _, name := range slices.Sorted(maps.Keys(namespaces)) {
		if !made[name] {
			notes.Say("Namespace %s: the cluster must have it, the trace does not make it", name)
		}
	}
}
