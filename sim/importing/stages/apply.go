package stages

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
)

// apply takes the steps of a Stage. Templates see the pod as it was before them, as in KWOK.
func (s *Stage) apply(pod *v1.Pod, now time.Time, notes *Notes) (Taken, error) {
	t := Taken{Stage: s, Pod: pod.DeepCopy()}
	for i := range s.steps {
		step := &s.steps[i]
		if e := step.Event; e != nil {
			notes.Of(s, step.at, "the event %s is not written: lifepod writes those of Kubernetes", e.Reason)
		}
		if t.Deleted {
			continue // KWOK sends events of a pod that it has deleted, and does nothing else
		}
		if step.Finalizers != nil {
			notes.Of(s, step.at, "finalizers are not changed: they belong to the API")
			t.Pod.Finalizers = step.Finalizers.change(t.Pod.Finalizers)
		}
		if step.Delete {
			t.Deleted = true
			continue
		}
		if step.Apply != nil {
			notes.Of(s, step.at, "no other object is applied")
		}
		if step.Patch == nil {
			continue
		}
		if err := s.patch(t.Pod, step, sight{pod, now}, notes); err != nil {
			return t, fmt.Errorf("%s:%d: %s: %s: %w", s.file, s.line(step.at...), s.Name, pathOf(step.at), err)
		}
	}
	if s.spec.ImmediateNextStage != nil && *s.spec.ImmediateNextStage {
		notes.Of(s, []string{"spec", "immediateNextStage"}, "makes no difference: a scenario has no time between Stages")
	}
	return t, nil
}

func (f *finalizers) change(now []string) []string {
	if f.Empty {
		return nil
	}
	for _, add := range f.Add {
		if !slices.Contains(now, add.Value) {
			now = append(now, add.Value)
		}
	}
	for _, remove := range f.Remove {
		now = slices.DeleteFunc(now, func(name string) bool { return name == remove.Value })
	}
	return now
}

// sight is what a template sees.
type sight struct {
	pod *v1.Pod
	now time.Time
}

// patch changes the pod as the API server would: its status by the subresource, else its metadata.
func (s *Stage) patch(pod *v1.Pod, step *step, of sight, notes *Notes) error {
	p := step.Patch
	if p.Impersonation != nil {
		notes.Of(s, step.at, "nobody is impersonated")
	}
	data, err := render(p.Template, of.pod, of.now)
	if err != nil {
		return err
	}
	patched, err := p.applied(pod, data)
	if err != nil {
		return err
	}
	switch p.Subresource {
	case "status":
		s.unknownStatus(data, p, step.at, notes)
		pod.Status = patched.Status
	case "":
		notes.Of(s, step.at, "a change of the pod's %s is not in the scenario", strings.Join(changed(pod, patched), " and "))
		pod.Labels, pod.Annotations, pod.Finalizers = patched.Labels, patched.Annotations, patched.Finalizers
	default:
		notes.Of(s, step.at, "a patch of the subresource %s is not in the scenario", p.Subresource)
	}
	return nil
}

// applied is the pod with the patch.
func (p *patch) applied(pod *v1.Pod, data []byte) (*v1.Pod, error) {
	original, err := json.Marshal(pod)
	if err != nil {
		return nil, err
	}
	result := original
	switch p.Type {
	case "", "strategic":
		if data, err = below(p.Root, data); err == nil {
			result, err = strategicpatch.StrategicMergePatch(original, data, &v1.Pod{})
		}
	case "merge":
		if data, err = below(p.Root, data); err == nil {
			result, err = jsonpatch.MergePatch(original, data)
		}
	case "json":
		result, err = jsonPatch(p.Root, original, data)
	default:
		err = fmt.Errorf("unknown type of patch %q", p.Type)
	}
	if err != nil {
		return nil, err
	}
	patched := &v1.Pod{}
	return patched, json.Unmarshal(result, patched)
}

func below(root string, data []byte) ([]byte, error) {
	if root == "" {
		return data, nil
	}
	return json.Marshal(map[string]json.RawMessage{root: data})
}

func jsonPatch(root string, original, data []byte) ([]byte, error) {
	var list []map[string]any
	if err := json.Unmarshal(data, &list); err != nil {
		return nil, err
	}
	for _, operation := range list {
		if path, is := operation["path"].(string); is && root != "" {
			operation["path"] = "/" + root + path
		}
	}
	data, err := json.Marshal(list)
	if err != nil {
		return nil, err
	}
	operations, err := jsonpatch.DecodePatch(data)
	if err != nil {
		return nil, err
	}
	return operations.Apply(original)
}

// changed says what a patch changes beside the status.
func changed(pod, patched *v1.Pod) (what []string) {
	if !maps.Equal(pod.Labels, patched.Labels) {
		what = append(what, "labels")
	}
	if !maps.Equal(pod.Annotations, patched.Annotations) {
		what = append(what, "annotations")
	}
	if what == nil {
		what = []string{"metadata or spec"}
	}
	return what
}

// derived are the fields of a status that follow from what containers do.
var (
	derivedStatus = []string{
		"conditions", "containerStatuses", "initContainerStatuses", "hostIP", "hostIPs", "podIP", "podIPs", "phase", "startTime", "reason", "message",
		"observedGeneration", "qosClass",
	}
	derivedContainer = []string{"image", "imageID", "containerID", "name", "ready", "restartCount", "started", "state", "lastState"}
)

// unknownStatus notes what a status has that nothing in a scenario leads to.
func (s *Stage) unknownStatus(data []byte, p *patch, at []string, notes *Notes) {
	var fields map[string]any
	if json.Unmarshal(data, &fields) != nil {
		return // JSON Patch
	}
	if p.Root == "" {
		fields, _ = fields["status"].(map[string]any)
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if !slices.Contains(derivedStatus, name) {
			notes.Of(s, at, "status.%s is not in a scenario", name)
		}
	}
	for _, list := range []string{"initContainerStatuses", "containerStatuses"} {
		statuses, _ := fields[list].([]any)
		for _, status := range statuses {
			of, _ := status.(map[string]any)
			for _, name := range slices.Sorted(maps.Keys(of)) {
				if !slices.Contains(derivedContainer, name) {
					notes.Of(s, at, "status.%s.%s is not in a scenario", list, name)
				}
			}
		}
	}
}
