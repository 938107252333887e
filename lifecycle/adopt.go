package lifecycle

import (
	"slices"

	v1 "k8s.io/api/core/v1"
)

// Adopt makes the machine of a pod that has run on this node before and of which
// there is no checkpoint: another agent's, such as the kubelet's, or one whose
// checkpoint was lost. What is known of its life are the status of its object and
// what the runtime has of it (B-RST-1, B-RST-4). The first event must be Resumed.
//
// Nothing that runs is touched because of it: a container that had started and
// was ready still is (B-RST-6), hooks have run. Exits that nobody has seen are
// judged when the snapshot that follows Resumed shows them.
func Adopt(pod *v1.Pod, options Options, seen Observed) *Machine {
	m := New(asAllocated(pod), options)
	m.adoptResize(pod)
	m.unseen, m.away, m.adopted = true, true, true
	if t := pod.Status.StartTime; t != nil {
		m.kept.StartTime = t.Time
	}
	m.kept.Reported = *pod.Status.DeepCopy()
	if m.kept.Reported.Phase == "" {
		m.kept.Reported.Phase = v1.PodPending
	}
	m.adoptNewestSandbox(seen)
	s := &step{Machine: m}
	for _, c := range m.containers {
		adoptFromStatus(s, c, seen)
	}
	adoptTurn(s, seen)
	m.round.Ever = condition(pod.Status.Conditions, v1.AllContainersRestarting) != nil // it stays (A-COND-8)
	if isTrue(pod.Status.Conditions, v1.AllContainersRestarting) {                     // it is finished (B-RAC-23)
		m.round.Active, m.round.Announced = true, true
	}
	return m
}

// adoptNewestSandbox takes the newest sandbox for the pod's. One that is not ready,
// has no address, or is not the only ready one is replaced like any lost one
// (B-RST-12, B-RST-14). Before the pod is gone, the machine looks whether the others are.
func (m *Machine) adoptNewestSandbox(seen Observed) {
	if len(seen.Sandboxes) == 0 {
		if anyRan(m.kept.Reported) { // after a reboot, for example: what ran is lost with it
			m.sandbox = sandbox{State: sandboxLost, IPs: m.reportedIPs()}
		}
		return
	}
	newest := slices.MaxFunc(seen.Sandboxes, func(a, b ObservedSandbox) int { return int(a.Attempt) - int(b.Attempt) })
	m.sandbox = sandbox{State: sandboxLost, ID: newest.ID, Attempt: newest.Attempt}
	m.kept.StraySandbox = len(seen.Sandboxes) > 1
	if newest.Ready && m.addressed(newest.IPs) && readySandboxes(seen) == 1 {
		m.sandbox.State = sandboxReady
	}
	m.sandbox.IPs = primaryFirst(newest.IPs, m.options.HostIPs)
	if len(m.sandbox.IPs) == 0 {
		m.sandbox.IPs = m.reportedIPs()
	}
}

func readySandboxes(seen Observed) int {
	ready := 0
	for _, s := range seen.Sandboxes {
		if s.Ready {
			ready++
		}
	}
	return ready
}

func (m *Machine) reportedIPs() []string {
	var ips []string
	for _, ip := range m.kept.Reported.PodIPs {
		ips = append(ips, ip.IP)
	}
	return ips
}

// adoptTurn finds the init container whose turn it is: those before a container
// that has run in this sandbox are through (A-INIT-3). What only the status tells was
// in this sandbox if there was no other before, or is none now.
func adoptTurn(s *step, seen Observed) {
	told := s.sandbox.State != sandboxReady || s.sandbox.Attempt == 0
	for i, c := range s.ordered() {
		if ranIn(s.sandbox.ID, c, seen) || told && (c.Exit != nil || c.Position == running) {
			s.kept.InitTurn = min(i, len(s.inits()))
		}
	}
	advanceInit(s)
}

// ranAfter says whether a container after c in their order has run in this sandbox.
func ranAfter(s *step, c *container, seen Observed) bool {
	after := s.ordered()[slices.Index(s.ordered(), c)+1:]
	return slices.ContainsFunc(after, func(c *container) bool { return ranIn(s.sandbox.ID, c, seen) })
}

func ranIn(sandboxID string, c *container, seen Observed) bool {
	return slices.ContainsFunc(seen.Containers, func(o ObservedContainer) bool { return o.Name == c.spec.Name && o.SandboxID == sandboxID })
}

// containerStatusOf is what the status says of a container; empty if nothing.
func containerStatusOf(status *v1.PodStatus, c *container) v1.ContainerStatus {
	for _, list := range [][]v1.ContainerStatus{
		status.InitContainerStatuses, status.ContainerStatuses, status.EphemeralContainerStatuses,
	} {
		for i := range list {
			if list[i].Name == c.spec.Name {
				return list[i]
			}
		}
	}
	return v1.ContainerStatus{}
}

// endIfTerminal goes on with a pod that had ended before: nothing of it is started
// again (B-WRK-23), what is left of it is stopped with its own grace.
func endIfTerminal(s *step) {
	if s.kept.Stage != Syncing || !Terminal(s.kept.Reported.Phase) {
		return
	}
	terminate(s, stop{Cause: Completed, Reason: s.kept.Reported.Reason, Message: s.kept.Reported.Message}, s.specGrace(),
		Report{What: "has ended before", Because: string(s.kept.Reported.Phase), Rule: "B-WRK-23"})
}

// RanBefore says whether a status or the runtime shows that something of the pod
// was made on this node: then it is adopted, else it is new. What a status alone shows
// is no reason not to admit the pod.
func RanBefore(pod *v1.Pod, seen Observed) bool {
	return len(seen.Sandboxes) > 0 || len(seen.Containers) > 0 || Terminal(pod.Status.Phase) || anyRan(pod.Status)
}

// anyRan says whether a status tells of an instance of any container.
func anyRan(status v1.PodStatus) bool {
	return slices.ContainsFunc(slices.Concat(status.InitContainerStatuses, status.ContainerStatuses), func(c v1.ContainerStatus) bool {
		return c.ContainerID != ""
	})
}
