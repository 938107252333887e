package register

import (
	"fmt"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	nodeutil "k8s.io/component-helpers/node/util"
)

// event is one about the Node, told when the status that it belongs to has
// reached the API server.
type event struct {
	kind, reason, message string
}

// verdict is one of a condition's two outcomes.
type verdict struct {
	reason, message string
	event           string
}

// pressure is a condition of a resource that runs out.
type pressure struct {
	condition v1.NodeConditionType
	short     verdict // True
	enough    verdict // False
}

// pressures are in the order in which the kubelet reports them.
var pressures = []pressure{
	{v1.NodeMemoryPressure,
		verdict{"KubeletHasInsufficientMemory", "kubelet has insufficient memory available", "NodeHasInsufficientMemory"},
		verdict{"KubeletHasSufficientMemory", "kubelet has sufficient memory available", "NodeHasSufficientMemory"}},
	{v1.NodeDiskPressure,
		verdict{"KubeletHasDiskPressure", "kubelet has disk pressure", "NodeHasDiskPressure"},
		verdict{"KubeletHasNoDiskPressure", "kubelet has no disk pressure", "NodeHasNoDiskPressure"}},
	{v1.NodePIDPressure,
		verdict{"KubeletHasInsufficientPID", "kubelet has insufficient PID available", "NodeHasInsufficientPID"},
		verdict{"KubeletHasSufficientPID", "kubelet has sufficient PID available", "NodeHasSufficientPID"}},
}

// setPressure sets a pressure condition. Reason and message change with the
// status only; a first verdict is a transition, too.
func (p pressure) set(node *v1.Node, under bool, now time.Time) []event {
	c := conditionOf(node, p.condition)
	if c == nil {
		node.Status.Conditions = append(node.Status.Conditions, v1.NodeCondition{Type: p.condition, Status: v1.ConditionUnknown})
		c = &node.Status.Conditions[len(node.Status.Conditions)-1]
	}
	c.LastHeartbeatTime = metav1.NewTime(now)
	status, says := v1.ConditionFalse, p.enough
	if under {
		status, says = v1.ConditionTrue, p.short
	}
	if c.Status == status {
		return nil
	}
	c.Status, c.Reason, c.Message = status, says.reason, says.message
	c.LastTransitionTime = metav1.NewTime(now)
	return []event{statusEvent(node.Name, says.event)}
}

// setReady sets Ready, the last condition of a new Node: False with all the
// reasons against it, else True.
func setReady(node *v1.Node, against []error, now time.Time) []event {
	ready := v1.NodeCondition{
		Type:              v1.NodeReady,
		Status:            v1.ConditionTrue,
		Reason:            "KubeletReady",
		Message:           "kubelet is posting ready status",
		LastHeartbeatTime: metav1.NewTime(now),
	}
	reason := "NodeReady"
	if err := utilerrors.NewAggregate(against); err != nil {
		ready.Status, ready.Reason, ready.Message = v1.ConditionFalse, "KubeletNotReady", err.Error()
		reason = "NodeNotReady"
	}
	ready.LastTransitionTime = ready.LastHeartbeatTime
	c := conditionOf(node, v1.NodeReady)
	if c == nil {
		node.Status.Conditions = append(node.Status.Conditions, ready)
		return nil
	}
	if c.Status == ready.Status {
		ready.LastTransitionTime = c.LastTransitionTime
		*c = ready
		return nil
	}
	*c = ready
	return []event{statusEvent(node.Name, reason)}
}

// missingCapacity is the reason not to be Ready of a node that doesn't know what
// it has.
func missingCapacity(capacity v1.ResourceList, withStorage bool) error {
	required := []v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory, v1.ResourcePods}
	if withStorage {
		required = append(required, v1.ResourceEphemeralStorage)
	}
	var missing []string
	for _, name := range required {
		if _, has := capacity[name]; !has {
			missing = append(missing, string(name))
		}
	}
	if missing == nil {
		return nil
	}
	return fmt.Errorf("missing node capacity for resources: %s", strings.Join(missing, ", "))
}

func conditionOf(node *v1.Node, name v1.NodeConditionType) *v1.NodeCondition {
	_, c := nodeutil.GetNodeCondition(&node.Status, name)
	return c
}

func statusEvent(name, reason string) event {
	return event{v1.EventTypeNormal, reason, fmt.Sprintf("Node %s status is now: %s", name, reason)}
}
