package lifecycle

import (
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// publish hands out the status if it differs from the last one (A-STAT-3), and reports a
// new phase or readiness.
func publish(s *step) {
	if s.kept.StartTime.IsZero() || s.adopted && s.unseen {
		return // its status is not known before the first snapshot (B-RST-6)
	}
	status := statusOf(s)
	if s.round.announce || !sameStatus(&status, &s.kept.Reported) {
		tellProgress(s, status)
		s.kept.Reported = status
		s.do(Publish{ID: announceRound(s), Status: *status.DeepCopy()})
	}
	if s.kept.Stage == Gone {
		s.do(Finish{End: endOf(s.Machine)})
	}
}

// sameStatus says whether two statuses are the same to the API. Their encodings tell nearly
// always, and are quicker to compare than each field by reflection.
func sameStatus(a, b *v1.PodStatus) bool {
	one, errOne := a.Marshal()
	other, errOther := b.Marshal()
	return errOne == nil && errOther == nil && slices.Equal(one, other) || equality.Semantic.DeepEqual(a, b)
}

// nothingNew says whether a step cannot have changed the status: a probe was sent, or its
// result equals the previous ones. Whatever changes the status also has an effect. So a
// pod that is only being probed costs nothing.
func (s *step) nothingNew(fact Fact) bool {
	switch fact.(type) {
	case Woke, Probed:
	default:
		return false
	}
	for _, e := range s.effects {
		if _, sent := e.(Probe); !sent {
			return false
		}
	}
	return true
}

// inPassing says whether the only news is an instance whose start was just asked for. Its
// status waits for the answer, as in Kubernetes, which reports nothing between the two
// (A-STAT-11): a write to the API server for each start would delay the start itself.
func (s *step) inPassing(fact Fact) bool {
	if f, created := fact.(ContainerCreated); !created || f.Failure != nil || s.round.announce {
		return false
	}
	starts := false
	for _, e := range s.effects {
		switch e.(type) {
		case StartContainer:
			starts = true
		case RecordEvent, RemoveContainer:
		default:
			return false
		}
	}
	return starts
}

// statusOf derives the whole status from the state. The previous status only supplies
// what is kept nowhere else: transition times, the sticky phase and Initialized.
func statusOf(s *step) v1.PodStatus {
	if s.stop.Cause == NotAdmitted {
		return rejectedStatus(s)
	}
	status := v1.PodStatus{
		ObservedGeneration: s.observedGeneration(),
		QOSClass:           s.pod.Status.QOSClass,
		StartTime:          seconds(s.kept.StartTime),
	}
	status.InitContainerStatuses = containerStatuses(s, s.inits())
	status.ContainerStatuses = containerStatuses(s, s.regulars())
	status.EphemeralContainerStatuses = containerStatuses(s, s.ephemerals())
	for _, list := range [][]v1.ContainerStatus{status.ContainerStatuses, status.EphemeralContainerStatuses} {
		slices.SortFunc(list, func(a, b v1.ContainerStatus) int { return strings.Compare(a.Name, b.Name) })
	}
	status.Resources, status.AllocatedResources = podResources(s.cgroupPod()), podRequests(s.pod)
	addresses(s, &status)
	phase := decidePhase(s, &status)
	status.Conditions = conditions(s, &status, phase)
	reportPhase(s, &status, phase)
	return status
}

// addresses fills the pod's and the host's addresses (A-CST-17).
func addresses(s *step, status *v1.PodStatus) {
	for _, ip := range s.shownIPs() {
		status.PodIPs = append(status.PodIPs, v1.PodIP{IP: ip})
	}
	for _, ip := range s.options.HostIPs {
		status.HostIPs = append(status.HostIPs, v1.HostIP{IP: ip})
	}
	if len(status.PodIPs) > 0 {
		status.PodIP = status.PodIPs[0].IP
	}
	if len(status.HostIPs) > 0 {
		status.HostIP = status.HostIPs[0].IP
	}
}

// reportPhase sets phase, reason and message. A terminal phase is withheld
// while anything may still run (B-FIN-3), and never changes again (B-FIN-2).
func reportPhase(s *step, status *v1.PodStatus, phase v1.PodPhase) {
	old := s.kept.Reported
	switch {
	case Terminal(old.Phase):
		status.Phase, status.Reason, status.Message = old.Phase, old.Reason, old.Message
	case Terminal(phase) && s.kept.Stage < Terminated:
		status.Phase, status.Reason, status.Message = old.Phase, old.Reason, old.Message
	default:
		status.Phase = phase
		if phase == v1.PodFailed {
			status.Reason, status.Message = s.stop.Reason, s.stop.Message
		}
	}
}

// Terminal says whether a pod in this phase has ended: it never has another one.
func Terminal(phase v1.PodPhase) bool { return phase == v1.PodSucceeded || phase == v1.PodFailed }

// seconds is a time as the API keeps it (A-STAT-9).
func seconds[T interface{ Unix() int64 }](t T) *metav1.Time {
	u := metav1.Unix(t.Unix(), 0)
	return &u
}

// tellProgress reports the milestones of the pod as a whole.
func tellProgress(s *step, status v1.PodStatus) {
	if status.Phase != s.kept.Reported.Phase {
		r := Report{Subject: "pod", What: string(status.Phase), Because: status.Reason, Rule: "A-PHASE-5"}
		tell(s, r)
	}
	was, is := isTrue(s.kept.Reported.Conditions, v1.PodReady), isTrue(status.Conditions, v1.PodReady)
	if is && !was {
		tell(s, Report{Subject: "pod", What: "Ready", Rule: "A-COND-6"})
	}
	if was && !is && s.kept.Stage == Syncing {
		tell(s, Report{Subject: "pod", What: "not Ready", Rule: "A-COND-6"})
	}
	tellGates(s, status)
}

func isTrue(conditions []v1.PodCondition, t v1.PodConditionType) bool {
	c := condition(conditions, t)
	return c != nil && c.Status == v1.ConditionTrue
}

func condition(conditions []v1.PodCondition, t v1.PodConditionType) *v1.PodCondition {
	for i := range conditions {
		if conditions[i].Type == t {
			return &conditions[i]
		}
	}
	return nil
}
