package lifecycle

import "time"

// applyResumed goes on with a restored or adopted pod. What has happened meanwhile is not
// known: nothing is planned before a snapshot, so that no healthy container is touched
// (B-RST-1). The status is handed out unchanged; nothing in it flips (B-RST-6).
func applyResumed(s *step) {
	applyAccepted(s)
	s.notAhead()
	because := BecauseKind("its-lifepod-had-ended")
	if s.adopted {
		because = "another-agent-has-begun-it"
	}
	tell(s, Report{Subject: ofPod, Kind: "resumes", On: s.pod.Namespace + "/" + s.pod.Name, Because: Because{Kind: because}, Rule: "B-RST-1"})
	if s.pod.Status.Phase != "" || !s.adopted { // else nothing is known of it before the first snapshot
		s.do(Publish{Status: s.kept.Reported})
	}
	endIfTerminal(s)
	for _, c := range s.containers {
		c.Probes[ReadinessProbe].Next = time.Time{} // readiness is probed at once, the others when they are due
	}
	if s.sandbox.State == sandboxUncertain {
		s.kept.Doubt = later(s.kept.Doubt, s.now.Add(time.Second))
	}
}

// lostSandboxDoubt is how long after its start the runtime may go on with a RunPodSandbox
// whose caller was killed, before it gives up by itself.
const lostSandboxDoubt = 5 * time.Second
