package lifecycle

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
