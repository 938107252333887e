package lifecycle

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"
)

func randomClaims(rt *rapid.T) []v1.PodResourceClaim {
	if rapid.IntRange(0, 3).Draw(rt, "has a resource claim") != 3 {
		return nil
	}
	return []v1.PodResourceClaim{{Name: "device", ResourceClaimName: new("device")}}
}

// performClaims is the drivers' part. A driver that carries out a call late does so
// before the next call for the claim.
func (w *world) performClaims(e Effect) {
	switch e.(type) {
	case PrepareClaims:
		w.late = slices.DeleteFunc(w.late, func(l lateCall) bool { _, unprepare := l.effect.(UnprepareClaims); return unprepare })
		w.prepared = true
	case UnprepareClaims:
		w.prepared = false
	}
}

// withClaims: the devices are prepared when the sandbox is created (A-DRA-2).
func (l *invariants) withClaims(w *walk) {
	if HasClaims(w.m.pod) && !w.prepared {
		l.t.Fatalf("the sandbox is made before the claims are prepared")
	}
}

// nothingUsesClaims: devices are given back after all that used them has ended, and before
// the pod's end is shown (A-DRA-8).
func (l *invariants) nothingUsesClaims(w *walk) {
	m := w.m
	if m.kept.Stage != Terminating || anyMayRun(m) || m.sandbox.State != sandboxNone && m.sandbox.State != sandboxStopped {
		l.t.Fatalf("claims are unprepared in stage %v, with the sandbox %v", m.kept.Stage, m.sandbox.State)
	}
}

// claimsGivenBack: a pod whose end is shown has no devices.
func (l *invariants) claimsGivenBack(w *walk, s v1.PodStatus) {
	if Terminal(s.Phase) && w.prepared {
		l.t.Fatalf("phase %s with claims that are prepared", s.Phase)
	}
}
