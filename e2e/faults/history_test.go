package faults

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// steadyLabel marks pods that must not become unready.
const steadyLabel = "faults/steady"

// history is all that the API has told of a node's pods, held against laws as it
// comes: counts that never go back, instances that are counted, ends that last,
// addresses that stay, and steady pods that are ready (B-RST-1, B-RST-4, B-RST-6).
type history struct {
	mu      sync.Mutex
	pods    map[types.UID]*podHistory
	changed chan struct{} // closed at the next event
}

type podHistory struct {
	pod    *v1.Pod // as told last
	gone   bool
	lines  []string
	wrongs []string
	// cutOff has the name of the container by the ID of an instance whose start
	// failed, or whose end containerd has missed, because something was killed; and
	// by name and number of one that no status told of, as one agent after the other
	// was killed before it could: nobody knows whether it was cut off.
	cutOff map[string]string
}

// watch follows the node's pods until ctx ends, through outages of the API server.
func watch(ctx context.Context, node string) *history {
	h := &history{pods: map[types.UID]*podHistory{}, changed: make(chan struct{})}
	pods := cache.NewListWatchFromClient(admin.CoreV1().RESTClient(), "pods", "", fields.OneTermEqualSelector("spec.nodeName", node))
	_, informer := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: throughOutages(pods), ObjectType: &v1.Pod{},
		Handler: cache.ResourceEventHandlerFuncs{
			AddFunc:    func(o any) { h.add(o.(*v1.Pod), false) },
			UpdateFunc: func(_, o any) { h.add(o.(*v1.Pod), false) },
			DeleteFunc: func(o any) {
				if last, ok := o.(cache.DeletedFinalStateUnknown); ok {
					o = last.Obj
				}
				h.add(o.(*v1.Pod), true)
			},
		},
	})
	go informer.Run(ctx.Done())
	return h
}

// throughOutages asks again every 50 ms while nobody answers. A reflector would pause for longer and longer, up to a
// minute, and show only then what is there since the API server is back.
func throughOutages(from *cache.ListWatch) *cache.ListWatch {
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			return untilAnswered(ctx, func() (runtime.Object, error) { return from.ListWithContext(ctx, o) })
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (apiwatch.Interface, error) {
			return untilAnswered(ctx, func() (apiwatch.Interface, error) { return from.WatchWithContext(ctx, o) })
		},
	}
}

// untilAnswered asks until there is an answer, which may be an error of the API server.
func untilAnswered[T any](ctx context.Context, ask func() (T, error)) (T, error) {
	for {
		got, err := ask()
		if err == nil || errors.As(err, new(apierrors.APIStatus)) {
			return got, err
		}
		select {
		case <-ctx.Done():
			return got, err
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func (h *history) add(pod *v1.Pod, gone bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := h.pods[pod.UID]
	if c == nil {
		c = &podHistory{pod: pod, cutOff: map[string]string{}}
		h.pods[pod.UID] = c
	}
	c.judge(pod)
	c.pod, c.gone = pod, gone
	c.lines = append(c.lines, describe(pod, gone))
	close(h.changed)
	h.changed = make(chan struct{})
}

// controllerSays is of a pod that is not ready because its node was not heard of for
// long: the node controller changes the one condition, the agent always both.
func controllerSays(s *v1.PodStatus) bool {
	return condition(s, v1.ContainersReady) == v1.ConditionTrue
}

// judge compares a version of a pod with the one before.
func (c *podHistory) judge(pod *v1.Pod) {
	before, now := &c.pod.Status, &pod.Status
	wrong := func(format string, arguments ...any) {
		c.wrongs = append(c.wrongs, fmt.Sprintf("%s: ", clock())+fmt.Sprintf(format, arguments...))
	}
	if (before.Phase == v1.PodSucceeded || before.Phase == v1.PodFailed) && now.Phase != before.Phase {
		wrong("the phase was %s and is %s", before.Phase, now.Phase)
	}
	if before.PodIP != "" && now.PodIP != before.PodIP && now.Phase == v1.PodRunning {
		wrong("the address was %s and is %q", before.PodIP, now.PodIP)
	}
	if before.StartTime != nil && !before.StartTime.Equal(now.StartTime) {
		wrong("the start time was %v and is %v", before.StartTime, now.StartTime)
	}
	if _, ok := pod.Labels[steadyLabel]; ok && pod.DeletionTimestamp == nil && isReady(before) && !isReady(now) && !controllerSays(now) {
		wrong("it is not ready any more")
	}
	was := statuses(before)
	for name, s := range statuses(now) {
		for _, e := range []*v1.ContainerStateTerminated{s.State.Terminated, s.LastTerminationState.Terminated} {
			if e != nil && (e.Reason == "StartError" || e.Reason == "Unknown" || neverStarted(e)) {
				c.cutOff[e.ContainerID] = name
			}
		}
		b, known := was[name]
		for number := firstUnreported(b); known && number < lastEnded(s); number++ {
			c.cutOff[fmt.Sprintf("%s #%d", name, number)] = name
		}
		switch {
		case !known:
		case s.RestartCount < b.RestartCount:
			wrong("the restart count of %s was %d and is %d", name, b.RestartCount, s.RestartCount)
		case s.RestartCount == b.RestartCount && b.ContainerID != "" && s.ContainerID != "" && s.ContainerID != b.ContainerID:
			wrong("%s is another container without being counted: %s, %s", name, b.ContainerID, s.ContainerID)
		}
	}
}

// neverStarted says that the runtime knows of no start of an instance that has ended:
// containerd was killed before it had started its process.
func neverStarted(e *v1.ContainerStateTerminated) bool { return !e.StartedAt.After(time.Unix(0, 0)) }

// lastEnded is the number of the instance whose end lastState has: the last but one, or the last one while another is waited for.
func lastEnded(s v1.ContainerStatus) int32 {
	last := s.LastTerminationState.Terminated
	if s.State.Waiting != nil && last != nil && last.ContainerID == s.ContainerID {
		return s.RestartCount
	}
	return s.RestartCount - 1
}

// firstUnreported is the number of the first instance of which a status does not say
// that it ran, or how it ended.
func firstUnreported(s v1.ContainerStatus) int32 {
	if s.State.Waiting == nil {
		return s.RestartCount + 1
	}
	return lastEnded(s) + 1
}

// cutOff is how many instances of each container of a pod failed to start, or
// ended while containerd was dead, with a code that nobody knows, or may have, as
// nothing was told of them. The lock is held.
func (h *history) cutOff(uid types.UID) map[string]int {
	counts := map[string]int{}
	for _, name := range h.pods[uid].cutOff {
		counts[name]++
	}
	return counts
}

func clock() string { return time.Now().Format("15:04:05.000") }

func isReady(s *v1.PodStatus) bool { return condition(s, v1.PodReady) == v1.ConditionTrue }

func condition(s *v1.PodStatus, kind v1.PodConditionType) v1.ConditionStatus {
	for _, c := range s.Conditions {
		if c.Type == kind {
			return c.Status
		}
	}
	return ""
}

// statuses are those of all containers, by name.
func statuses(s *v1.PodStatus) map[string]v1.ContainerStatus {
	all := map[string]v1.ContainerStatus{}
	for _, c := range slices.Concat(s.InitContainerStatuses, s.ContainerStatuses) {
		all[c.Name] = c
	}
	return all
}

// describe is a version of a pod on one line.
func describe(pod *v1.Pod, gone bool) string {
	text := &strings.Builder{}
	s := &pod.Status
	fmt.Fprintf(text, "%s %s %s", clock(), pod.ResourceVersion, s.Phase)
	for _, c := range s.Conditions {
		if c.Status == v1.ConditionTrue {
			fmt.Fprintf(text, " %s", c.Type)
		}
	}
	all := statuses(s)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		c, state := all[name], "waiting"
		switch {
		case c.State.Running != nil:
			state = "running"
		case c.State.Terminated != nil:
			state = fmt.Sprintf("terminated %d %s", c.State.Terminated.ExitCode, c.State.Terminated.Reason)
		case c.State.Waiting != nil:
			state = "waiting " + c.State.Waiting.Reason
		}
		_, id, _ := strings.Cut(c.ContainerID, "//")
		fmt.Fprintf(text, "; %s #%d %.6s %s ready=%t", name, c.RestartCount, id, state, c.Ready)
	}
	if pod.DeletionTimestamp != nil {
		text.WriteString("; deleted")
	}
	if gone {
		text.WriteString("; gone")
	}
	return text.String()
}

// await waits until what the API tells is as wanted; why says why it isn't.
func (h *history) await(ctx context.Context, wanted func(map[types.UID]*podHistory) (why string)) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		h.mu.Lock()
		why, changed := wanted(h.pods), h.changed
		h.mu.Unlock()
		if why == "" {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("%w: %s", ctx.Err(), why)
		}
	}
}
