package lifecycle

import v1 "k8s.io/api/core/v1"

// apply ends the life of a pod that the node refuses. Only a new pod can be
// refused (A-ADM-1).
func (f Rejected) apply(s *step) {
	if !s.kept.StartTime.IsZero() {
		return
	}
	s.kept.StartTime, s.kept.Stage = s.wall, Gone
	s.stop = stop{Cause: NotAdmitted, Reason: f.Reason, Message: "Pod was rejected: " + f.Message}
	s.do(RecordEvent{Type: warning, Reason: f.Reason, Message: f.Message})
	tell(s, Report{Subject: ofPod, Kind: KindRejected, Outcome: "nothing-is-started", Because: Because{Text: f.Message}, Rule: "A-ADM-2"})
}

// rejectedStatus has no container statuses and no addresses, because nothing was created.
// It keeps PodScheduled, which upstream loses (A-ADM-3).
func rejectedStatus(s *step) v1.PodStatus {
	return v1.PodStatus{
		ObservedGeneration: s.pod.Generation,
		Phase:              v1.PodFailed,
		Reason:             s.stop.Reason,
		Message:            s.stop.Message,
		QOSClass:           s.pod.Status.QOSClass,
		StartTime:          secondsAs(s.kept.StartTime, nil),
		Conditions: []v1.PodCondition{{
			Type: v1.PodScheduled, Status: v1.ConditionTrue, ObservedGeneration: s.pod.Generation, LastTransitionTime: seconds(s.wall),
		}},
	}
}
