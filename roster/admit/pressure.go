package admit

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/klog/v2"

	"github.com/lifepod/lifepod/lifecycle"
)

// UnderPressure refuses a pod that would only be evicted (B-EVI-13). conditions are those
// of pressure that the Node has. Critical pods are admitted always; if memory is all that
// is short, so are pods with requests, and those that tolerate the condition's taint.
func UnderPressure(candidate *v1.Pod, conditions []v1.NodeConditionType) *Refusal {
	if len(conditions) == 0 || lifecycle.Critical(candidate) {
		return nil
	}
	if slices.Equal(conditions, []v1.NodeConditionType{v1.NodeMemoryPressure}) {
		taint := &v1.Taint{Key: v1.TaintNodeMemoryPressure, Effect: v1.TaintEffectNoSchedule}
		if lifecycle.QOSClass(candidate) != v1.PodQOSBestEffort || corev1.TolerationsTolerateTaint(klog.Logger{}, candidate.Spec.Tolerations, taint, false) {
			return nil
		}
	}
	return &Refusal{Reason: "Evicted", Message: fmt.Sprintf("The node had condition: %v. ", conditions)}
}
