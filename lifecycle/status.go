package lifecycle

import (
	"net/netip"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// publish hands out the status if it differs from the last one (A-STAT-3), and reports a
// new phase or readiness.
func publish(s *step) {
	if s.kept.StartTime.IsZero() || s.adopted && s.unseen {
		return // its status is not known before the first snapshot (B-RST-6)
	}
	status, attempt := statusOf(s), s.annotateAttempt()
	if attempt || s.restartAll.announce || !sameStatus(&status, &s.kept.Reported) {
		tellProgress(s, &status)
		s.kept.Reported = status
		s.do(Publish{ID: announceRestartAll(s), Status: status})
	}
}

// routine says whether a probe was sent, or its result equals the previous ones. Whatever
// changes the status then also has an effect, but for the time after which a restart of all
// containers is shown (endsFirst). So a pod that is only being probed costs nothing.
func routine(s *step, fact Fact) bool {
	switch fact.(type) {
	case Woke, Probed:
		return !mayShow(s) && !slices.ContainsFunc(s.effects, func(e Effect) bool { _, probes := e.(Probe); return !probes })
	}
	return false
}

// unshown says whether no status tells of the only news: work was done for a pod that has
// started nothing yet or of which nothing runs any more, or the runtime tells again what is known.
func unshown(s *step, fact Fact) bool {
	switch fact.(type) {
	case ContainerRunning:
		return s.known && len(s.effects) == 0 && !mayShow(s)
	case VolumesMounted:
		return s.sandbox.ID == "" && len(s.effects) == 0 && !mayShow(s)
	case ImageInspected, CgroupEnsured, VolumesUnmounted, CgroupRemoved, SandboxRemoved:
		return !slices.ContainsFunc(s.effects, shows) && !mayShow(s)
	}
	return false
}

// mayShow says whether the status may be another one although no effect shows it.
func mayShow(s *step) bool {
	return s.kept.Stage != s.stageBefore && s.stageBefore < Terminated || s.restartAll.Active || s.restartAll.announce || s.unsaid
}

// shows says whether the status may be another one after an effect.
func shows(e Effect) bool {
	switch e := e.(type) {
	case PullImage, CreateSandbox, UnmountVolumes, RemoveSandbox, RemoveCgroup, DeleteObject:
		return false
	case RecordEvent:
		return e.Type != normal
	}
	return true
}

// inPassing says whether the only news is an instance whose start was just asked for. Its
// status waits for the answer, as in Kubernetes, which reports nothing between the two
// (A-STAT-11): a write to the API server for each start would delay the start itself.
func (s *step) inPassing(fact Fact) bool {
	if f, created := fact.(ContainerCreated); !created || f.Failure != nil || s.restartAll.announce {
		return false
	}
	return slices.ContainsFunc(s.effects, func(e Effect) bool { _, starts := e.(StartContainer); return starts })
}

// statusOf derives the whole status from the state. The previous status only supplies
// what is kept nowhere else: transition times, the sticky phase and Initialized. Parts
// that are the same as there are taken from there.
func statusOf(s *step) v1.PodStatus {
	if s.stop.Cause == NotAdmitted {
		return rejectedStatus(s)
	}
	view(s)
	pod, old := s.ofSpec(), &s.kept.Reported
	inits, ordered := len(s.inits()), len(s.ordered())
	status := v1.PodStatus{
		ObservedGeneration:         s.observedGeneration(),
		QOSClass:                   s.pod.Status.QOSClass,
		StartTime:                  secondsAs(s.kept.StartTime, old.StartTime),
		InitContainerStatuses:      containerStatuses(s, pod.shown[:inits], old.InitContainerStatuses),
		ContainerStatuses:          containerStatuses(s, pod.shown[inits:ordered], old.ContainerStatuses),
		EphemeralContainerStatuses: containerStatuses(s, pod.shown[ordered:], old.EphemeralContainerStatuses),
		Resources:                  pod.resources,
		AllocatedResources:         pod.requests,
	}
	if s.betweenAllocations() {
		status.Resources = podResources(s.cgroupPod())
	}
	addresses(s, &status)
	phase := decidePhase(s)
	status.Conditions = conditions(s, phase)
	reportPhase(s, &status, phase)
	return status
}

// addresses fills the pod's and the host's addresses (A-CST-17).
func addresses(s *step, status *v1.PodStatus) {
	old, ips := &s.kept.Reported, s.shownIPs()
	status.PodIPs, status.HostIPs = old.PodIPs, old.HostIPs
	if !slices.EqualFunc(status.PodIPs, ips, func(shown v1.PodIP, ip string) bool { return shown.IP == ip }) {
		status.PodIPs = nil
		for _, ip := range ips {
			status.PodIPs = append(status.PodIPs, v1.PodIP{IP: ip})
		}
	}
	if !slices.EqualFunc(status.HostIPs, s.options.HostIPs, func(shown v1.HostIP, ip string) bool { return shown.IP == ip }) {
		status.HostIPs = nil
		for _, ip := range s.options.HostIPs {
			status.HostIPs = append(status.HostIPs, v1.HostIP{IP: ip})
		}
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
	old := &s.kept.Reported
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
func seconds[T interface{ Unix() int64 }](t T) metav1.Time { return metav1.Unix(t.Unix(), 0) }

// secondsAs is a time as the API keeps it: the one that it has, if it is the same.
func secondsAs(t time.Time, known *metav1.Time) *metav1.Time {
	if known != nil && known.Unix() == t.Unix() {
		return known
	}
	u := seconds(t)
	return &u
}

// tellProgress reports the milestones of the pod as a whole.
func tellProgress(s *step, status *v1.PodStatus) {
	if status.Phase != s.kept.Reported.Phase {
		tell(s, Report{Subject: ofPod, Kind: "phase", On: string(status.Phase), Because: Because{Text: status.Reason}, Rule: "A-PHASE-5"})
	}
	was, is := isTrue(s.kept.Reported.Conditions, v1.PodReady), isTrue(status.Conditions, v1.PodReady)
	if is && !was {
		tell(s, Report{Subject: ofPod, Kind: "pod-ready", Rule: "A-COND-6"})
	}
	if was && !is && s.kept.Stage == Syncing {
		tell(s, Report{Subject: ofPod, Kind: "pod-not-ready", Rule: "A-COND-6"})
	}
	tellGates(s, status)
}

func isTrue(conditions []v1.PodCondition, t v1.PodConditionType) bool {
	c := Condition(conditions, t)
	return c != nil && c.Status == v1.ConditionTrue
}

// Condition is one of a list by its type, nil if it is not there.
func Condition(conditions []v1.PodCondition, t v1.PodConditionType) *v1.PodCondition {
	for i := range conditions {
		if conditions[i].Type == t {
			return &conditions[i]
		}
	}
	return nil
}

// primaryFirst returns the pod's addresses for its status: the first of the node's
// primary family, then the first of the other family (A-CST-17). The runtime may list
// them in any order and notation.
func primaryFirst(runtimeIPs, hostIPs []string) []string {
	primaryIs4 := true
	if len(hostIPs) > 0 {
		if host, err := netip.ParseAddr(hostIPs[0]); err == nil {
			primaryIs4 = host.Unmap().Is4()
		}
	}
	var ips []string
	for _, is4 := range []bool{primaryIs4, !primaryIs4} {
		for _, text := range runtimeIPs {
			if ip, err := netip.ParseAddr(text); err == nil && ip.Unmap().Is4() == is4 {
				ips = append(ips, ip.Unmap().String())
				break
			}
		}
	}
	return ips
}
