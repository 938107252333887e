package sim

import (
	"reflect"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/lifecycle"
)

// facts are what a pod's agent is told, and when.
type facts struct {
	pod  *Pod
	now  time.Time
	list []lifecycle.Fact
}

func newFacts(slow float64) *facts {
	f := &facts{now: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)}
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default", UID: "1"}}
	pod.Spec.RestartPolicy = v1.RestartPolicyAlways
	pod.Spec.Containers = []v1.Container{{Name: "main", Image: "example.test/app:1"}}
	f.pod = NewPod(pod, PodOptions{Seed: 1, Began: f.now, Tell: f.tell, Slow: slow})
	return f
}

func (f *facts) tell(fact lifecycle.Fact) { f.list = append(f.list, fact) }

// took carries an effect out, and says how long it took until the answer.
func (f *facts) took(t *testing.T, e lifecycle.Effect) time.Duration {
	t.Helper()
	began, want := f.now, reflect.TypeOf(lifecycle.AnswerTo(e, nil))
	f.pod.Begin(f.now, e)
	for {
		for _, fact := range f.list {
			if reflect.TypeOf(fact) == want {
				f.list = nil
				return f.now.Sub(began)
			}
		}
		next, will := f.pod.Next()
		assert.Require(t, will, "%T has no answer", e)
		f.now = next
		f.pod.Happen(next)
	}
}

// On a slow node calls of the runtime take so many times as long, and nothing else does.
func TestSlow(t *testing.T) {
	usual, slow := newFacts(0), newFacts(3)
	for _, e := range []struct {
		effect lifecycle.Effect
		times  int64
	}{
		{lifecycle.EnsureCgroup{ID: 1}, 1},
		{lifecycle.CreateSandbox{ID: 2}, 3},
		{lifecycle.PullImage{ID: 3, Image: "example.test/app:1"}, 3},
		{lifecycle.Observe{ID: 4}, 3},
	} {
		as, than := slow.took(t, e.effect), usual.took(t, e.effect)
		assert.True(t, than != 0 && as.Nanoseconds() == e.times*than.Nanoseconds(),
			"%T takes %v, and %v on a slow node, want %d times as long", e.effect, than, as, e.times)
	}
}

// When the power goes off nobody learns of it, and when it is on again the runtime has records of what ran.
func TestPower(t *testing.T) {
	f := newFacts(0)
	f.took(t, lifecycle.CreateSandbox{ID: 1})
	sandbox := f.pod.w.runtime.Sandboxes[0].ID
	f.took(t, lifecycle.CreateContainer{ID: 2, SandboxID: sandbox, Container: "main"})
	container := f.pod.w.runtime.Containers[0].ID
	f.took(t, lifecycle.StartContainer{ID: 3, ContainerID: container, Container: "main"})
	f.pod.Begin(f.now, lifecycle.StopContainer{ID: 4, ContainerID: container, Container: "main", TimeoutSeconds: 30})
	f.pod.Begin(f.now, lifecycle.EnsureCgroup{ID: 5})
	f.list = nil
	off := f.now
	f.pod.PowerOff(off)
	f.now = off.Add(time.Hour)
	f.pod.Happen(f.now)
	assert.True(t, len(f.list) == 0, "without power somebody learns %+v", f.list)
	before := f.list
	var after []lifecycle.Fact
	f.pod.PowerOn(f.now, func(fact lifecycle.Fact) { after = append(after, fact) })
	f.pod.Happen(f.now.Add(50 * time.Millisecond))
	assert.Require(t, len(before) == 0 && len(after) == 1, "the agent of before is told %+v, and the next one %+v, want one snapshot", before, after)
	seen, is := after[0].(lifecycle.Observed)
	assert.Require(t, is && len(seen.Sandboxes) == 1 && !seen.Sandboxes[0].Ready && len(seen.Containers) == 1, "the runtime has %+v", after[0])
	exit := seen.Containers[0].Exit
	assert.True(t, seen.Containers[0].State == lifecycle.StateExited && exit != nil && exit.ExitCode == 255 && exit.Reason == "Unknown" && exit.FinishedAt.Equal(off),
		"the container is %+v, ended as %+v", seen.Containers[0], exit)
}
