package machine

import v1 "k8s.io/api/core/v1"

// PodCondition is a pod's condition of a kind; one without a status if it has none.
func PodCondition(pod *v1.Pod, kind v1.PodConditionType) v1.PodCondition {
	for _, c := range pod.Status.Conditions {
		if c.Type == kind {
			return c
		}
	}
	return v1.PodCondition{}
}

// IsReady says whether a pod is Ready.
func IsReady(pod *v1.Pod) bool { return PodCondition(pod, v1.PodReady).Status == v1.ConditionTrue }

// NodeReady is a node's condition Ready; one without a status if it has none.
func NodeReady(node *v1.Node) v1.NodeCondition {
	for _, c := range node.Status.Conditions {
		if c.Type == v1.NodeReady {
			return c
		}
	}
	return v1.NodeCondition{}
}
