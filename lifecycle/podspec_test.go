package lifecycle

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/lifepod/lifepod/internal/assert"
)

// The object of a pod whose lifepod was killed has what was asked for, its generation and
// its deletion (A-COND-11, B-WRK-9).
func TestObjectOfCheckpoint(t *testing.T) {
	pod := checkpointPod()
	m := New(pod, DefaultOptions())
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	m.Step(Event{At: now, Fact: Accepted{}})
	cpu := v1.ResourceList{v1.ResourceCPU: resource.MustParse("1")}
	m.Step(Event{At: now, Fact: ResizeRequested{Containers: []ContainerResources{{Name: "a", Resources: v1.ResourceRequirements{Requests: cpu}}}}})
	m.Step(Event{At: now, Fact: StopRequested{GraceSeconds: new(int64(7))}})
	for name, got := range map[string]*v1.Pod{
		"of the machine":    m.Object(),
		"of the checkpoint": throughJSON(t, m.Checkpoint()).Object(pod),
	} {
		ends := got.DeletionTimestamp
		assert.True(t, got.Generation == pod.Generation+2 && ends != nil && ends.Time.Equal(now.Add(7*time.Second)),
			"%s: generation %d, want %d; ends at %v", name, got.Generation, pod.Generation+2, ends)
		asked := got.Spec.Containers[0].Resources.Requests.Cpu()
		assert.True(t, asked.String() == "1", "%s: asks for %v cpu, want 1", name, asked)
	}
}

// A damaged checkpoint is shown as far as that goes: whoever lists pods must see the others.
func TestObjectOfDamagedCheckpoint(t *testing.T) {
	c := New(checkpointPod(), DefaultOptions()).Checkpoint()
	c.Resize.Desired = &Allocation{Containers: make([]ContainerResources, 5)}
	got := c.Object(checkpointPod())
	assert.True(t, len(got.Spec.Containers) == 1, "%d containers", len(got.Spec.Containers))
}

// A machine takes no memory for a pod that it was given until something of it is another: the echo of a status changes nothing. What
// is another is that of a new object.
func TestPodIsSharedUntilItChanges(t *testing.T) {
	given := checkpointPod()
	given.Generation, given.Labels = 1, map[string]string{"app": "web"}
	given.Spec.Tolerations = []v1.Toleration{{Key: "a", TolerationSeconds: new(int64(3))}}
	unchanged := given.DeepCopy()
	for name, test := range map[string]struct {
		change func(*v1.Pod)
		isNew  bool // what effects are carried out by is another
		shared bool
	}{
		"status":      {func(p *v1.Pod) { p.Status.Phase, p.ResourceVersion = v1.PodRunning, "2" }, false, true},
		"generation":  {func(p *v1.Pod) { p.Generation = 2 }, false, false},
		"finalizers":  {func(p *v1.Pod) { p.Finalizers = []string{"example.com/a"} }, true, false},
		"condition":   {func(p *v1.Pod) { p.Status.Conditions = []v1.PodCondition{{Type: "example.com/gate"}} }, true, false},
		"labels":      {func(p *v1.Pod) { p.Labels = map[string]string{"app": "db"} }, true, false},
		"annotations": {func(p *v1.Pod) { p.Annotations = map[string]string{"a": "b"} }, true, false},
		"image":       {func(p *v1.Pod) { p.Spec.Containers[0].Image = "other" }, true, false},
		"deadline":    {func(p *v1.Pod) { p.Spec.ActiveDeadlineSeconds = new(int64(5)) }, true, false},
		"grace":       {func(p *v1.Pod) { p.Spec.TerminationGracePeriodSeconds = new(int64(1)) }, true, false},
		"tolerations": {func(p *v1.Pod) { p.Spec.Tolerations[0].TolerationSeconds = new(int64(4)) }, true, false},
	} {
		m := New(given, DefaultOptions())
		m.Step(Event{At: time.Unix(1, 0), Fact: Accepted{}})
		newer := given.DeepCopy()
		test.change(newer)
		m.Step(Event{At: time.Unix(2, 0), Fact: PodUpdated{Pod: newer}})
		if shared := m.Pod() == given; shared != test.shared || m.PodChanged() != test.isNew {
			t.Errorf("%s: the pod is the one that was given: %t, want %t; it has changed: %t, want %t", name, shared, test.shared, m.PodChanged(), test.isNew)
		}
		is, want := m.Pod().DeepCopy(), newer
		is.Status.Phase, is.ResourceVersion = want.Status.Phase, want.ResourceVersion // are not the machine's
		diff := cmp.Diff(want, is)
		assert.True(t, diff == "", "%s: the pod, -want +got:\n%s", name, diff)
		diff = cmp.Diff(unchanged, given)
		assert.Require(t, diff == "", "%s: the pod that was given has changed:\n%s", name, diff)
	}
}

// The claims that are made for a pod later are those of a new object: the one that the machine had is never changed, as others have it,
// too (A-DRA-3).
func TestLaterClaimsAreOfANewObject(t *testing.T) {
	pod := checkpointPod()
	m := New(pod, DefaultOptions())
	m.Step(Event{At: time.Unix(1, 0), Fact: Accepted{}})
	newer, had := pod.DeepCopy(), m.pod
	newer.Status.ResourceClaimStatuses = []v1.PodResourceClaimStatus{{Name: "gpu", ResourceClaimName: new("made")}}
	m.Step(Event{At: time.Unix(2, 0), Fact: PodUpdated{Pod: newer}})
	before, now := len(had.Status.ResourceClaimStatuses), len(m.pod.Status.ResourceClaimStatuses)
	assert.True(t, before == 0 && now == 1, "the object before has %d claims, that of now %d", before, now)
}
