package lifecycle

import (
	"cmp"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// derived is what earlier steps have derived from the state, kept so that it is derived
// anew only when what it follows from has changed. It decides nothing: a machine without
// it does the same, which the walks check at each step.
type derived struct {
	spec       *ofSpec          // nil: the pod has changed since
	containers []shownContainer // in the order of state.containers; empty: the pod has changed since
	names      []taggedName     // of images
	unready    nameList         // in the message of ContainersReady
	incomplete nameList         // in that of Initialized
}

// derivePod derives what follows from the pod at once, so that clones of a new machine have it.
func (m *Machine) derivePod() {
	m.ofSpec()
	for _, c := range m.containers {
		_, _ = m.withDefaultTag(c.spec.Image) // whoever needs it is told of an error
	}
}

// podChanged forgets what follows from the pod's spec, labels and annotations.
func (d *derived) podChanged() { d.spec, d.containers = nil, nil }

// ofSpec is what follows from the pod alone. It is never changed.
type ofSpec struct {
	resources *v1.ResourceRequirements // of the pod as a whole (A-CST-15)
	requests  v1.ResourceList
	shown     []int   // indexes of the containers in the order of their lists in the status
	storage   watched // what the pod writes to
}

func (m *Machine) ofSpec() *ofSpec {
	if m.derived.spec == nil {
		m.derived.spec = &ofSpec{
			resources: podResources(m.pod), requests: podRequests(m.pod),
			shown: shownOrder(m), storage: storageWatched(m.pod),
		}
	}
	return m.derived.spec
}

// shownOrder has the init containers as the spec has them, and the others by their names.
func shownOrder(m *Machine) []int {
	order := make([]int, len(m.containers))
	for i := range order {
		order[i] = i
	}
	byName := func(a, b int) int { return cmp.Compare(m.containers[a].spec.Name, m.containers[b].spec.Name) }
	slices.SortFunc(order[len(m.inits()):len(m.ordered())], byName)
	slices.SortFunc(order[len(m.ordered()):], byName)
	return order
}

// taggedName is what WithDefaultTag says of an image.
type taggedName struct {
	reference, name string
	err             error
}

// withDefaultTag is WithDefaultTag, asked once for each image.
func (m *Machine) withDefaultTag(reference string) (string, error) {
	for i := range m.derived.names {
		if known := &m.derived.names[i]; known.reference == reference {
			return known.name, known.err
		}
	}
	name, err := WithDefaultTag(reference)
	m.derived.names = append(slices.Clip(m.derived.names), taggedName{reference, name, err})
	return name, err
}

// nameList is a message that ends with a list of containers: "these are: [a b]".
type nameList struct {
	names []string
	text  string
}

// after is the message with these names.
func (l *nameList) after(what string, names []string) string {
	if !slices.Equal(l.names, names) {
		*l = nameList{names: slices.Clone(names), text: what + "[" + strings.Join(names, " ") + "]"}
	}
	return l.text
}
