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

// EvictionRequested ends the pod as failed for the node's sake: pressure,
// preemption, shutdown (B-WRK-12).
type EvictionRequested struct {
	Reason       string // status reason and event, such as Preempting (B-PRE-2)
	Message      string
	Disruption   string // message of the condition DisruptionTarget; empty: no such condition
	GraceSeconds *int64 // nil: spec.terminationGracePeriodSeconds
	NoEvent      bool   // no event tells of the reason (B-SHD-5)
	Blame        Blame  // of the event
}

// Blame says who used too much of what when a pod was evicted: the annotations of the
// event (B-EVI-9). Lists are separated by commas. The zero value has none.
type Blame struct {
	Starved                     string
	Containers, ContainersUsage string
	Pod, PodUsage               string // empty if it requests nothing as a whole
}

// Annotations are those of the event; nil: none.
func (b Blame) Annotations() map[string]string {
	if b.Starved == "" {
		return nil
	}
	a := map[string]string{
		"starved_resource": b.Starved, "offending_containers": b.Containers, "offending_containers_usage": b.ContainersUsage,
	}
	if b.Pod != "" {
		a["offending_pod"], a["offending_pod_usage"] = b.Pod, b.PodUsage
	}
	return a
}
