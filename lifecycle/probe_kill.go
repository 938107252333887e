package lifecycle

import (
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
)

// killUnhealthy stops a container whose startup or liveness probe has failed. Its restart
// policy alone decides, now, whether it starts again: exit code rules do not apply
// (A-ACT-8, A-RST-4, A-RST-6, B-PRB-3).
func killUnhealthy(s *step, c *container, k ProbeKind, output string) {
	v := unhealthyVerdict(s, c, k)
	message := fmt.Sprintf("Container %s failed %s probe", c.spec.Name, k.word())
	if c.kind == sidecarContainer {
		message = "Init container" + message[len("Container"):] // A-INIT-2
	} else if v.Restart {
		message += ", will be restarted"
	}
	outcome := Outcome("no-restart")
	if v.Restart {
		outcome = "then-restart"
	}
	killContainer(s, c, kill{
		Message:  message,
		Deadline: s.now.Add(s.unhealthyGrace(c.probeSpec(k))),
		Verdict:  &v,
		report:   Report{Kind: KindProbeFailed, On: k.word(), Message: words(output), Outcome: outcome, Because: Because{Kind: BecauseOften, Nth: c.Probes[k].Run}, Rule: "A-ACT-8"},
	})
}

// unhealthyVerdict is the restart decision for a container that fails a probe.
func unhealthyVerdict(s *step, c *container, k ProbeKind) verdict {
	if c.kind == sidecarContainer {
		return verdict{Restart: true, Because: Because{Kind: becauseSidecar}, Rule: "A-INIT-2"}
	}
	because := byPolicy(s, c)
	because.Failed = k.word() + " probe"
	return verdict{Restart: because.Policy != v1.ContainerRestartPolicyNever, Because: because, Rule: "A-ACT-8"}
}

// unhealthyGrace is the probe's own grace, which may exceed the pod's, else the pod's
// (A-PROBE-14, B-SIG-2). It also applies if nothing is left to run afterwards.
func (s *step) unhealthyGrace(spec *v1.Probe) time.Duration {
	if g := spec.TerminationGracePeriodSeconds; g != nil {
		return GraceDuration(*g)
	}
	return s.specGrace()
}
