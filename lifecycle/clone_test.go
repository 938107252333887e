package lifecycle

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/internal/assert"
)

// Clone is CloneInto in memory of its own.
func (m *Machine) Clone() *Machine { return m.CloneInto(&Machine{}) }

// What a machine does after it was copied is not the copy's: neither has the other's back-off of images.
func TestCloneIsIndependent(t *testing.T) {
	tr := playing(t, v1.PodSpec{Containers: []v1.Container{{Name: "a", ImagePullPolicy: v1.PullAlways}}})
	tr.settle(t, []string{"PullImage"})
	refused := AnswerTo(tr.pending[0], &Failure{Reason: "ErrImagePull", Message: "no such image"})
	before := string(textOf(t, tr.m.Checkpoint()))
	clone := tr.m.Clone()
	clone.Step(Event{At: tr.now, Fact: refused})
	now := string(textOf(t, tr.m.Checkpoint()))
	assert.True(t, now == before, "after a step of its copy the machine is\n%s\nbefore\n%s", now, before)
	assert.True(t, !sameMemory(clone.derived.containers, tr.m.derived.containers), "the copy changes what the machine shows of its containers")
	assert.True(t, clone.Checkpoint().ImageBack["img:1"].Delay != 0, "the copy has no back-off of its image")
}

// A copy in the memory of a machine that had more containers has no more than its original.
func TestCloneInMemoryOfAnother(t *testing.T) {
	unused := playing(t, v1.PodSpec{Containers: []v1.Container{{Name: "b"}, {Name: "c"}}})
	unused.settle(t, nil)
	m := playing(t, v1.PodSpec{Containers: []v1.Container{{Name: "a"}}}).m
	want, got := string(textOf(t, m.Checkpoint())), string(textOf(t, m.CloneInto(unused.m).Checkpoint()))
	diff := cmp.Diff(want, got)
	assert.True(t, diff == "", "the machine (-), its copy (+):\n%s", diff)
}
