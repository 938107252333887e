package worker

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/internal/assert"
)

// Workers that are given up at any moment, with calls, probes and hooks under way,
// leave no goroutine: the bubble ends, and at once.
func TestGivingUpLeavesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		before := len(inBubble())
		s := newStory(t, "hang StartContainer web-3", "hang StopContainer web-7", "hang ContainerStatus #20 times=5", "hang ListContainers #50")
		s.Command("main", "hang")
		const pods = 100
		for n := range pods {
			pod := podOf(fmt.Sprintf("web-%d", n), v1.RestartPolicyAlways, "main")
			pod.Spec.Containers[0].ReadinessProbe = execProbe(1, "ready")
			pod.Spec.Containers[0].Lifecycle = &v1.Lifecycle{PostStart: execHook("begin"), PreStop: execHook("drain")}
			if n%2 == 0 {
				pod.Spec.Containers[0].Lifecycle.PostStart = nil
			}
			web := s.run(pod)
			if n%3 == 0 {
				time.AfterFunc(time.Duration(n)*20*time.Millisecond, func() { web.stop(int64(n % 7)) })
			}
		}
		time.Sleep(2500 * time.Millisecond)
		synctest.Wait()
		most := len(inBubble()) - before
		assert.Require(t, most >= pods, "%d goroutines with %d pods: this proves nothing", most, pods)
		began := time.Now()
		s.end()
		took := time.Since(began)
		assert.True(t, took <= 5*time.Second, "giving up took %v", took)
		time.Sleep(time.Hour) // a hook that nobody awaits any more ends, too
		synctest.Wait()
		left := inBubble()
		assert.True(t, len(left) <= before, "%d goroutines are left of a bubble that began with %d:\n%s", len(left), before, strings.Join(left, "\n\n"))
	})
}

// inBubble are the stacks of the goroutines of synctest's bubble. Their number alone,
// of runtime.NumGoroutine, counts one that is just ending on another thread.
func inBubble() (stacks []string) {
	text := make([]byte, 16<<20)
	for stack := range strings.SplitSeq(string(text[:runtime.Stack(text, true)]), "\n\n") {
		if head, _, _ := strings.Cut(stack, "\n"); strings.Contains(head, "synctest bubble") {
			stacks = append(stacks, stack)
		}
	}
	return stacks
}
