package lifecycle

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"pgregory.net/rapid"
)

// changesSpec lets a user change the running pod, or changes what the node has room for.
func (w *walk) changesSpec() {
	switch w.draw(9, "change") {
	case 8:
		w.feed(SpaceNeeded{})
	case 0, 1, 2:
		w.addsEphemeral()
	case 3:
		w.crowded = !w.crowded
		w.feed(RoomFreed{})
	case 4:
		w.changesObjects()
	case 5:
		if w.draw(4, "writes too much") == 0 {
			w.written = 2 << 20
		}
	default:
		w.resizes()
	}
}

// addsEphemeral adds one of a few ephemeral containers, perhaps one that is there already.
func (w *walk) addsEphemeral() {
	name, target := fmt.Sprintf("e%d", w.draw(3, "ephemeral")), ""
	if w.draw(2, "has target") == 1 {
		target = w.pod.Spec.Containers[w.draw(len(w.pod.Spec.Containers), "target")].Name
	}
	w.feed(EphemeralContainerAdded{Container: namedEphemeral(name, target)})
}

// resizes asks for other resources of some containers, perhaps those they have.
func (w *walk) resizes() {
	var f ResizeRequested
	for _, c := range w.m.ordered() {
		if w.draw(2, "resized") == 1 {
			f.Containers = append(f.Containers, ContainerResources{Name: c.spec.Name, Resources: w.randomResources()})
		}
	}
	if w.draw(3, "resized as a whole") == 2 {
		f.Pod = w.randomPodResources()
	}
	w.feed(f)
}

// randomPodResources are those of a pod as a whole: of everything, or of memory only.
func (w *walk) randomPodResources() *v1.ResourceRequirements {
	own := resourcesOf([]string{"1", "2"}[w.draw(2, "cpu")], []string{"256Mi", "512Mi"}[w.draw(2, "memory")])
	if w.draw(2, "memory only") == 1 {
		delete(own.Limits, v1.ResourceCPU)
		delete(own.Requests, v1.ResourceCPU)
	}
	return &own
}

func (w *walk) randomResources() v1.ResourceRequirements {
	return resourcesOf([]string{"100m", "200m", "300m"}[w.draw(3, "cpu")], []string{"32Mi", "64Mi"}[w.draw(2, "memory")])
}

func resourcesOf(cpu, memory string) v1.ResourceRequirements {
	list := v1.ResourceList{v1.ResourceCPU: resource.MustParse(cpu), v1.ResourceMemory: resource.MustParse(memory)}
	return v1.ResourceRequirements{Limits: list, Requests: list.DeepCopy()}
}

// randomResources gives a container resources and, where the API lets it, a
// policy to be restarted for new ones.
func randomResources(rt *rapid.T, pod *v1.Pod, c *v1.Container) {
	c.Resources = resourcesOf("100m", "64Mi")
	always := pod.Spec.RestartPolicy == v1.RestartPolicyAlways && c.RestartPolicy == nil
	if always && rapid.IntRange(0, 2).Draw(rt, "resize restarts") == 2 {
		c.ResizePolicy = []v1.ContainerResizePolicy{{ResourceName: v1.ResourceMemory, RestartPolicy: v1.RestartContainer}}
	}
}

// performResize is a node that has room for everything, or for nothing more.
func (w *world) performResize(e Effect) Fact {
	r := Result{ID: e.EffectID()}
	switch e := e.(type) {
	case AdmitResize:
		if w.crowded {
			return ResizeAdmitted{Result: r, Reason: "OutOfcpu", Message: "no room"}
		}
	case MeasureMemory:
		if w.crowded {
			return MemoryMeasured{Result: r, Pod: 1 << 40}
		}
	case ResizeContainer:
		c := w.Container(e.ContainerID)
		if c == nil || c.State != StateRunning {
			return AnswerTo(e, &Failure{Class: NotFound, Message: "not found"})
		}
		w.resources[e.ContainerID] = e.Resources
		return ContainerResized{Result: r, Actual: e.Resources.DeepCopy()}
	}
	return AnswerTo(e, nil)
}

// resized: a pod at rest has what was allocated to it, in all that runs (A-ACT-12).
func (l *invariants) resized(w *walk) {
	m := w.m
	if m.resize.Progress != nil || m.resize.Pending != nil || len(m.resize.Held) != 1 {
		l.t.Fatalf("a pod at rest is being resized: %+v", m.resize)
	}
	for _, c := range m.ordered() {
		if has, known := w.resources[c.ID]; known && c.Position == running && !SameCPUAndMemory(has, m.allocatedTo(c)) {
			l.t.Fatalf("%s has %+v and was allocated %+v", c.spec.Name, has, m.allocatedTo(c))
		}
	}
}

// freshBackOff: new resources start the back-off over, also another limit of the pod
// (A-BO-1, A-ACT-17).
func (l *invariants) freshBackOff(m *Machine) {
	if m.pod == l.allocatedOf { // which is replaced by each change
		return
	}
	l.allocatedOf = m.pod
	for _, c := range m.ordered() {
		given := m.allocatedTo(c)
		before := l.allocated[c.spec.Name]
		if r := l.runs[c.spec.Name]; r != nil && !sameRequirements(&before, &given) {
			r.delay = 0
		}
		l.allocated[c.spec.Name] = given
	}
	if m.pod.Generation < l.generation {
		l.t.Fatalf("generation goes back to %d", m.pod.Generation)
	}
	l.generation = m.pod.Generation
}

// ephemeralOnce: an ephemeral container that ran is never created again (A-RST-2).
func (l *invariants) ephemeralOnce(w *walk) {
	for _, c := range w.m.ephemerals() {
		name := c.spec.Name
		if l.ranOnce[name] != "" && l.ranOnce[name] != c.ID {
			l.t.Fatalf("ephemeral container %s ran as %s and is made again", name, l.ranOnce[name])
		}
		if c.Position == running || c.Position == exited {
			l.ranOnce[name] = c.ID
		}
		if c.op != 0 && c.Exit != nil || c.Verdict.Restart {
			l.t.Fatalf("ephemeral container %s is restarted", name)
		}
	}
}
