package lifecycle

import v1 "k8s.io/api/core/v1"

// applyRejected ends the life before it began. Only a pod that is new can be
// refused (A-ADM-1).
func applyRejected(s *step, f Rejected) {
	if !s.startTime.IsZero() {
		return
	}
	s.startTime, s.stage = s.wall, Gone
	s.stop = stop{cause: NotAdmitted, reason: f.Reason, message: "Pod was rejected: " + f.Message}
	s.do(RecordEvent{Type: warning, Reason: f.Reason, Message: f.Message})
	tell(s, Report{Subject: "pod", What: "rejected", Outcome: "nothing is started", Because: f.Message, Rule: "A-ADM-2"})
}

// rejectedStatus has nothing of containers and addresses, because there are
// none. PodScheduled stays, which upstream loses (A-ADM-3).
func rejectedStatus(s *step) v1.PodStatus {
	return v1.PodStatus{
		ObservedGeneration: s.pod.Generation,
		Phase:              v1.PodFailed,
		Reason:             s.stop.reason,
		Message:            s.stop.message,
		QOSClass:           s.pod.Status.QOSClass,
		StartTime:          seconds(s.startTime),
		Conditions: []v1.PodCondition{{
			Type: v1.PodScheduled, Status: v1.ConditionTrue, ObservedGeneration: s.pod.Generation, LastTransitionTime: *seconds(s.wall),
		}},
	}
}
