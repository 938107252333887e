package lifecycle

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
)

// Adopt makes the machine of a pod that has run on this node before and has no
// checkpoint: it belonged to another agent, such as the kubelet, or its checkpoint was
// lost. The status of its object and what the runtime has of it show how far it has come
// (B-RST-1, B-RST-4). The first event must be Resumed.
//
// Adopting touches nothing that runs: a container that was started and ready stays so
// (B-RST-6), and its postStart hook does not run again. Exits that nobody has seen are
// judged when the snapshot after Resumed shows them.
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
	m.keepDevices()
	m.adoptNewestSandbox(seen)
	s := &step{Machine: m}
	for _, c := range m.containers {
		adoptFromStatus(s, c, seen)
	}
	adoptTurn(s, seen)
	m.restartAll.Ever = Condition(pod.Status.Conditions, v1.AllContainersRestarting) != nil // the condition stays, once set (A-COND-8)
	if isTrue(pod.Status.Conditions, v1.AllContainersRestarting) {                          // that restart is completed (B-RAC-23)
		m.restartAll.Active, m.restartAll.Announced = true, true
	}
	m.adoptGroup(pod)
	return m
}

// adoptNewestSandbox makes the newest sandbox the pod's own. If it is not ready, has no
// address, or is not the only ready one, it counts as lost and is replaced (B-RST-12,
// B-RST-14). Before the pod is gone, the machine checks that the other sandboxes are gone
// too.
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
	switch {
	case readySandboxes(seen) > 1:
		m.sandbox.unfit = unfitSeveral
	case newest.Ready && !m.addressed(newest.IPs):
		m.sandbox.unfit = unfitNoAddress
	case newest.Ready:
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

// adoptTurn finds the init container whose turn it is: if a container has run in this
// sandbox, all init containers before it are through (A-INIT-3). A run that only the
// status shows counts for this sandbox if it is the pod's first, or if it is not ready and the
// runtime knows nothing that ran in it.
func adoptTurn(s *step, seen Observed) {
	known := slices.ContainsFunc(s.ordered(), func(c *container) bool { return ranIn(s, c, seen) })
	counts := s.sandbox.Attempt == 0 || s.sandbox.State != sandboxReady && !known
	for i, c := range s.ordered() {
		if ranIn(s, c, seen) || counts && (c.Exit != nil || c.Position == running) {
			s.kept.InitTurn = min(i, len(s.inits()))
		}
	}
	advanceInit(s)
}

// ranAfter says whether a container that starts after c has run in this sandbox.
func ranAfter(s *step, c *container, seen Observed) bool {
	after := s.ordered()[slices.Index(s.ordered(), c)+1:]
	return slices.ContainsFunc(after, func(c *container) bool { return ranIn(s, c, seen) })
}

// ranIn says whether c has run in the pod's sandbox, or is about to: an instance is created when its turn has come. One that
// is only created while an init container before it is not through was made late, by a call from before a restart of all.
func ranIn(s *step, c *container, seen Observed) bool {
	newest := newestIn(s.sandbox.ID, c, seen)
	return newest != nil && (newest.State != StateCreated || !slices.ContainsFunc(s.inits(), func(init *container) bool {
		o := newestIn(s.sandbox.ID, init, seen)
		through := o == nil || init.kind == sidecarContainer || o.State == StateExited && init.completes(s, terminatedBy(s, *o.Exit))
		return !through && slices.Index(s.ordered(), init) < slices.Index(s.ordered(), c)
	}))
}

// newestIn is the newest instance in a sandbox; nil: there is none.
func newestIn(sandboxID string, c *container, seen Observed) (newest *ObservedContainer) {
	for i := range seen.Containers {
		if o := &seen.Containers[i]; o.Name == c.spec.Name && o.SandboxID == sandboxID && (newest == nil || o.Attempt > newest.Attempt) {
			newest = o
		}
	}
	return newest
}

// containerStatusOf returns the container's entry in the status; empty if there is none.
func containerStatusOf(status *v1.PodStatus, c *container) v1.ContainerStatus {
	for _, s := range ContainerStatuses(status) {
		if s.Name == c.spec.Name {
			return *s
		}
	}
	return v1.ContainerStatus{}
}

// endIfTerminal ends a pod whose phase is already terminal: nothing of it starts again
// (B-WRK-23), and what still runs is stopped with the pod's own grace.
func endIfTerminal(s *step) {
	if s.kept.Stage != Syncing || !Terminal(s.kept.Reported.Phase) {
		return
	}
	terminate(s, stop{Cause: Completed, Reason: s.kept.Reported.Reason, Message: s.kept.Reported.Message}, s.specGrace(),
		Report{Kind: KindEndedBefore, Because: Because{Text: string(s.kept.Reported.Phase)}, Rule: "B-WRK-23"})
}

// RanBefore says whether the status shows that something of the pod was created on this
// node. Such a pod is adopted, but not exempt from admission.
func RanBefore(pod *v1.Pod) bool {
	return Terminal(pod.Status.Phase) || anyRan(pod.Status)
}

// anyRan says whether the status shows an instance of any container.
func anyRan(status v1.PodStatus) bool {
	return slices.ContainsFunc(slices.Concat(status.InitContainerStatuses, status.ContainerStatuses), func(c v1.ContainerStatus) bool {
		return c.ContainerID != ""
	})
}

// asAllocated returns another agent's pod with the resources that its containers have
// according to the status. Those in the spec may be only requested, not allocated or
// actuated yet (A-ADM-7).
func asAllocated(pod *v1.Pod) *v1.Pod {
	pod = pod.DeepCopy()
	inProgress := isTrue(pod.Status.Conditions, v1.PodResizeInProgress)
	for i := range len(pod.Spec.InitContainers) + len(pod.Spec.Containers) {
		c := specOf(pod, i)
		status := containerStatusOf(&pod.Status, &container{role: role{spec: c}})
		if status.State.Running == nil || status.Resources == nil {
			continue
		}
		has := v1.ResourceRequirements{Limits: status.Resources.Limits, Requests: status.AllocatedResources}
		if inProgress {
			has.Requests = status.Resources.Requests
		}
		if SameCPUAndMemory(has, c.Resources) {
			continue
		}
		for _, name := range []v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory} {
			c.Resources = WithResources(c.Resources, has, name)
		}
	}
	ownAsAllocated(pod, inProgress)
	return pod
}

// ownAsAllocated gives the pod as a whole the resources that it has according to the
// status (A-ACT-16). Those are the pod's in the kernel's units, so the spec counts while
// no resize is under way.
func ownAsAllocated(pod *v1.Pod, inProgress bool) {
	own, status := pod.Spec.Resources, pod.Status
	unsettled := inProgress || isTrue(status.Conditions, v1.PodResizePending) || status.ObservedGeneration != pod.Generation
	if own == nil || status.Resources == nil || !unsettled {
		return
	}
	requests := status.AllocatedResources
	if inProgress {
		requests = status.Resources.Requests
	}
	for _, name := range []v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory} {
		takeOwn(own.Limits, status.Resources.Limits, pod.Spec.Overhead, name)
		takeOwn(own.Requests, requests, pod.Spec.Overhead, name)
	}
}

// takeOwn replaces a quantity that the pod as a whole declares by what it has of it
// without the overhead.
func takeOwn(declared, has, overhead v1.ResourceList, name v1.ResourceName) {
	if _, found := declared[name]; !found {
		return
	}
	quantity, found := has[name]
	if !found {
		delete(declared, name)
		return
	}
	quantity = quantity.DeepCopy()
	quantity.Sub(overhead[name])
	declared[name] = quantity
}

// adoptResize requests again what the spec asks for and the pod does not have yet
// (A-ACT-15).
func (m *Machine) adoptResize(wanted *v1.Pod) {
	asked := allocation(wanted)
	if equality.Semantic.DeepEqual(asked, allocation(m.pod)) {
		return
	}
	m.resize.Desired, m.resize.Before = &asked, wanted.Status.ObservedGeneration
	if c := Condition(wanted.Status.Conditions, v1.PodResizePending); c != nil {
		m.resize.Pending = c.DeepCopy()
	}
	m.generation = specIsAnother
}
