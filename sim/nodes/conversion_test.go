package nodes

import (
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/sim/live"
)

// A status has real times, each the one with which it was told first, whether time goes faster or is moved on by hand.
func TestToReal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		manual := live.NewManual()
		for name, of := range map[string]live.VirtualTime{"scaled": live.NewScaled(60), "manual": manual} {
			c := NewConversion(of)
			started := metav1.NewTime(of.Now().Truncate(time.Second))
			first := &v1.PodStatus{StartTime: started.DeepCopy()}
			shown := time.Now()
			c.toReal("u1", first)
			assert.True(t, first.StartTime.Time.Equal(shown), "%s: it has started at %v, want %v", name, first.StartTime, shown)
			time.Sleep(10 * time.Second)
			assert.Must(t, manual.Advance(10*time.Minute, func() error { return nil }))
			ended := metav1.NewTime(of.Now().Truncate(time.Second))
			second := &v1.PodStatus{StartTime: started.DeepCopy(), ContainerStatuses: []v1.ContainerStatus{{
				State: v1.ContainerState{Terminated: &v1.ContainerStateTerminated{StartedAt: started, FinishedAt: ended}},
			}}}
			c.toReal("u1", second)
			is := second.ContainerStatuses[0].State.Terminated
			assert.True(t, second.StartTime.Time.Equal(shown) && is.StartedAt.Time.Equal(shown) && is.FinishedAt.Time.Equal(time.Now()),
				"%s: later it has started at %v, run since %v, and ended at %v", name, second.StartTime, is.StartedAt, is.FinishedAt)
			c.toReal("u1", second) // what is reported already
			assert.True(t, len(c.realTimes["u1"]) <= 2, "%s: %d times are kept", name, len(c.realTimes["u1"]))
		}
	})
}

// A deletion keeps its grace, counted from when it was asked for; said again it is the same, and with a shorter grace it is nearer.
func TestDeletion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fast := live.NewScaled(60)
		c := NewConversion(fast)
		time.Sleep(10*time.Second + 900*time.Millisecond)
		pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "u1", CreationTimestamp: metav1.Now()}}
		asked := func(grace int64) {
			ends := metav1.NewTime(time.Now().Add(time.Duration(grace) * time.Second).Truncate(time.Second))
			pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = &ends, &grace
		}
		asked(30)
		first := c.toVirtual(pod).DeletionTimestamp
		want := fast.Now().Add(30 * time.Second)
		assert.True(t, first.Time.Equal(want), "its grace ends at %v, want %v", first, want)
		time.Sleep(200 * time.Millisecond)
		again := c.toVirtual(pod).DeletionTimestamp
		assert.True(t, again.Equal(first), "said again it ends at %v, want %v", again, first)
		asked(5)
		if got, want := c.toVirtual(pod).DeletionTimestamp.Sub(first.Time), 12*time.Second-25*time.Second; got != want {
			t.Errorf("with a shorter grace it ends %v later, want %v", got, want)
		}
		time.Sleep(10 * time.Second)
		late := NewConversion(fast).toVirtual(pod).DeletionTimestamp // by a node that hears of it now
		left := late.Sub(fast.Now())
		assert.True(t, left <= -9*time.Minute && left >= -11*time.Minute, "of a grace that was over ten minutes ago %v are left", left)
		assert.True(t, !pod.DeletionTimestamp.Equal(late), "the source's pod is changed")
	})
}
