package worker

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/internal/assert"
)

// Whatever goes wrong at once, a pod comes to run, is never doubled, and leaves
// nothing behind. The faults of a life follow from its number alone.
func TestManyThingsGoWrong(t *testing.T) {
	for seed := range uint64(lives) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				random := rand.New(rand.NewPCG(seed, 0))
				faults := randomFaults(random)
				defer func() {
					if t.Failed() {
						t.Logf("faults %q", faults)
					}
				}()
				s := newStory(t, faults...)
				s.node.Timeouts.Pull = 5 * time.Minute
				s.Program("main", "exit=1 after=3s", "exit=0 after=1ms", "run term=1s")
				s.Program("side", "exit=1", "run term=ignore")
				pod := podOf("web", v1.RestartPolicyAlways, "main", "side")
				if random.IntN(2) == 0 {
					pod.Spec.Containers[1].Image = "example.org/absent:1"
				}
				s.Command("main", "exit=1", "out=ok", "after=2s", "out=ok")
				s.Command("side", "hang", "error=busy", "out=ok")
				pod.Spec.Containers[0].ReadinessProbe, pod.Spec.Containers[1].LivenessProbe = execProbe(1, "ready"), execProbe(2, "alive")
				pod.Spec.Containers[0].Lifecycle = &v1.Lifecycle{PreStop: execHook("drain")}
				web := s.run(pod)
				for range random.IntN(3) {
					time.Sleep(time.Duration(random.IntN(5000)) * time.Millisecond)
					s.GoDown(time.Duration(random.IntN(5000)) * time.Millisecond)
				}
				if random.IntN(4) > 0 {
					web.await("both running", allRun)
				}
				time.Sleep(time.Duration(random.IntN(20000)) * time.Millisecond)
				web.stop(int64(random.IntN(40)))
				web.gone()
				left := s.Left()
				assert.True(t, len(left) == 0, "left behind: %q; calls %q", left, s.Acted())
			})
		})
	}
}

func allRun(status v1.PodStatus) bool {
	return len(status.ContainerStatuses) > 0 && !slices.ContainsFunc(status.ContainerStatuses, func(c v1.ContainerStatus) bool {
		return c.State.Running == nil
	})
}

// lives is how many are lived in a usual run.
const lives = 150

func randomFaults(random *rand.Rand) []string {
	pick := func(list ...string) string { return list[random.IntN(len(list))] }
	var faults []string
	for range random.IntN(8) {
		var words []string
		if random.IntN(3) > 0 {
			words = []string{
				pick("hang", "fail", "carry-out-then-hang", "carry-out-then-fail", "slow", "carry-out-late"),
				pick("RunPodSandbox", "PodSandboxStatus", "CreateContainer", "StartContainer", "StopContainer", "RemoveContainer",
					"StopPodSandbox", "RemovePodSandbox", "ListPodSandbox", "ListContainers", "ContainerStatus", "ImageStatus", "PullImage", "ExecSync"),
			}
			words = append(words, pick("", "code=Unavailable", "code=DeadlineExceeded"))
		} else {
			words = []string{pick("lose", "double", "delay", "drop"), pick("CREATED", "STARTED", "STOPPED", "DELETED")}
		}
		words = append(words, fmt.Sprintf("times=%d", 1+random.IntN(3)), fmt.Sprintf("by=%dms", random.IntN(110000)))
		faults = append(faults, strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" }), " "))
	}
	return faults
}

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
