package lifecycle

import "time"

// applyResumed is the first event of a machine that was restored. What happened
// since its checkpoint is not known: nothing is planned before a snapshot was
// seen, so that no healthy container is touched (B-RST-1). The status is handed
// out as it was; nothing in it flips (B-RST-6).
func applyResumed(s *step) {
	applyAccepted(s)
	s.notAhead()
	because := "its lifepod had ended"
	if s.adopted {
		because = "another agent has begun it"
	}
	tell(s, Report{Subject: "pod", What: s.pod.Namespace + "/" + s.pod.Name + " resumes where it was", Because: because, Rule: "B-RST-1"})
	if s.pod.Status.Phase != "" || !s.adopted { // else nothing is known of it before it was looked at
		s.do(Publish{Status: *s.kept.Reported.DeepCopy()})
	}
	endIfTerminal(s)
	for _, c := range s.containers {
		c.Probes[ReadinessProbe].Next = time.Time{} // the first comes at once, the other probes when they are due
	}
	if s.sandbox.State == sandboxUncertain {
		s.kept.Doubt = later(s.kept.Doubt, s.now.Add(time.Second))
	}
}

// lostSandboxDoubt is how long after its beginning a RunPodSandbox may go on in
// the runtime whose caller was killed: the runtime gives it up, in its own time.
const lostSandboxDoubt = 5 * time.Second
