package lifecycle

// Cause is why a pod ended.
type Cause int

// The causes of a pod's end (B-WRK-2).
const (
	NotEnding        Cause = iota
	Deleted                // somebody asked
	Completed              // nothing was left to run (A-ACT-13)
	InitFailed             // an init container failed for good (A-INIT-3)
	DeadlineExceeded       // activeDeadlineSeconds (B-CTL-9)
	NotAdmitted            // refused by the node, nothing was started (A-ADM-2)
	RuleDemanded           // a restart rule, or the limit of restarts
	Evicted                // it uses more of the disk than it may (B-LST-1)
	Unattachable           // the node can't have more volumes of a driver (A-SYNC-8)
)

// End is how a pod ended. Container is the one whose failure counts, empty if none has
// failed: the first that failed by itself, else the first that failed when it was
// stopped. Sidecars do not count (B-SIDE-6).
type End struct {
	Cause     Cause
	Container string
	ExitCode  int32
}

// endOf derives the end from the state; it is final once the pod is gone.
func endOf(m *Machine) End {
	end := End{Cause: m.stop.Cause}
	if c := firstFailure(m.ordered()); c != nil {
		end.Container, end.ExitCode = c.spec.Name, c.Exit.ExitCode
	}
	return end
}

func firstFailure(list []*container) *container {
	var first *container
	for _, c := range list {
		if c.kind == sidecarContainer || c.Exit == nil || c.succeeded(c.Exit) {
			continue
		}
		if first == nil || failedBefore(c, first) {
			first = c
		}
	}
	return first
}

// failedBefore orders failures: unrequested ones first, then by time.
func failedBefore(a, b *container) bool {
	if a.Asked != b.Asked {
		return !a.Asked
	}
	return a.EndedAt.Before(b.EndedAt)
}
