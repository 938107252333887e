package publish

import (
	"encoding/json"
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
)

// patchStatus is the strategic merge patch that turns the object's status into
// another one and gives it annotations, with the object's UID as a precondition
// (B-FIN-10); nil if it says all that already. The order of conditions means nothing.
func patchStatus(pod *v1.Pod, want *v1.PodStatus, notes map[string]string) ([]byte, error) {
	notes = missing(pod.Annotations, notes)
	if sameStatus(&pod.Status, want) && len(notes) == 0 {
		return nil, nil
	}
	before, err := json.Marshal(v1.Pod{Status: pod.Status})
	if err != nil {
		return nil, fmt.Errorf("encode the status that pod %s/%s has: %w", pod.Namespace, pod.Name, err)
	}
	after, err := json.Marshal(v1.Pod{ObjectMeta: metav1.ObjectMeta{UID: pod.UID, Annotations: notes}, Status: *want})
	if err != nil {
		return nil, fmt.Errorf("encode the status of pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	patch, err := strategicpatch.CreateTwoWayMergePatch(before, after, v1.Pod{})
	if err != nil {
		return nil, fmt.Errorf("compare statuses of pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	if string(patch) == fmt.Sprintf(`{"metadata":{"uid":%q}}`, pod.UID) {
		return nil, nil
	}
	return patch, nil
}

func sameStatus(a, b *v1.PodStatus) bool {
	if len(a.Conditions) != len(b.Conditions) {
		return false
	}
	for i := range a.Conditions {
		other := condition(b.Conditions, a.Conditions[i].Type)
		if other == nil || !equality.Semantic.DeepEqual(a.Conditions[i], *other) {
			return false
		}
	}
	x, y := *a, *b
	x.Conditions, y.Conditions = nil, nil
	return equality.Semantic.DeepEqual(x, y)
}
