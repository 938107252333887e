package worker

import (
	"context"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lifepod/lifepod/cri/crifake"
	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/worker/criconfig"
	"github.com/lifepod/lifepod/worker/images"
	"github.com/lifepod/lifepod/worker/podcgroup"
)

// story is a node with a pretended runtime, in a bubble of virtual time.
type story struct {
	*testing.T
	*crifake.Runtime
	node   *Engine
	events *Events
	start  time.Time
	ctx    context.Context
	end    func() // of ctx, and waits for all
	wait   sync.WaitGroup
}

const (
	image      = "example.org/app:1"
	otherImage = "example.org/other:1"
)

// inStory runs a test in virtual time, with a new story.
func inStory(t *testing.T, test func(t *testing.T, s *story), faults ...string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(t, newStory(t, faults...)) })
}

// storyOf runs a test of a name in a story.
func storyOf(t *testing.T, name string, test func(t *testing.T, s *story), faults ...string) {
	t.Run(name, func(t *testing.T) { inStory(t, test, faults...) })
}

// newStory begins with an event stream that is already registered.
func newStory(t *testing.T, faults ...string) *story {
	s := &story{T: t, Runtime: crifake.New(image, otherImage), start: time.Now()}
	s.Fault(faults...)
	dir := t.TempDir()
	s.node = &Engine{
		Runtime: s.Runtime, Images: images.New(s.Runtime, images.Options{}),
		Cgroups: noCgroups{}, API: API{Objects: func(*v1.Pod) Objects { return noObjects{} }}, Log: slog.New(slog.DiscardHandler),
		Folders: Folders{Pods: filepath.Join(dir, "pods")}, Config: criconfig.Node{LogRoot: filepath.Join(dir, "logs")},
		Options: lifecycle.DefaultOptions(), Timeouts: DefaultTimeouts(),
	}
	s.node.Options.HostIPs = []string{"192.0.2.1"}
	s.events = s.node.Events(nil)
	ctx, cancel := context.WithCancel(context.Background())
	s.ctx, s.end = ctx, func() { cancel(); s.wait.Wait() }
	s.wait.Go(func() { s.events.Run(ctx) })
	time.Sleep(10 * time.Millisecond)
	s.start = time.Now()
	t.Cleanup(func() {
		s.end()
		assert.Empty(t, s.Doubled(), "two instances of one container ran at the same time")
	})
	return s
}

// life is one pod in a story.
type life struct {
	*story
	worker *Worker
	done   chan error
	news   chan struct{}

	mu       sync.Mutex
	statuses []v1.PodStatus
	at       []time.Duration
	recorded []lifecycle.RecordEvent
}

func (l *life) Status(status v1.PodStatus, _ bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.statuses, l.at = append(l.statuses, status), append(l.at, time.Since(l.start))
	select {
	case l.news <- struct{}{}:
	default:
	}
}

func (l *life) Event(_ time.Time, e lifecycle.RecordEvent) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.recorded = append(l.recorded, e)
}

func (l *life) Report(time.Time, lifecycle.Report) {}

func (l *life) Delete() {}

// Rests takes that the pod rests.
func (l *life) Rests() {}

// newLife is one that has not begun.
func (s *story) newLife() *life {
	return &life{story: s, done: make(chan error, 1), news: make(chan struct{}, 1)}
}

// begin has a worker lead it, until ctx ends.
func (l *life) begin(ctx context.Context, w *Worker) *life {
	l.worker = w
	l.events.Add(w)
	l.wait.Go(func() {
		defer l.events.Remove(w)
		l.done <- w.Run(ctx)
	})
	return l
}

// run begins the life of a pod.
func (s *story) run(pod *v1.Pod) *life {
	l := s.newLife()
	return l.begin(s.ctx, s.node.NewWorker(pod, l))
}

// running begins the life of a pod, and waits until that runs.
func (s *story) running(pod *v1.Pod) *life {
	s.Helper()
	l := s.run(pod)
	l.await("running", running)
	return l
}

// patience is more virtual time than any story needs.
const patience = 3 * time.Hour

// await waits for a status and returns when it came, counted from the story's start.
func (l *life) await(what string, is func(v1.PodStatus) bool) time.Duration {
	l.Helper()
	limit := time.After(patience)
	for {
		if at, found := l.find(is); found {
			return at
		}
		select {
		case <-l.news:
		case <-limit:
			l.Fatalf("never %s; status %+v; calls %q", what, l.last(), l.Acted())
		}
	}
}

func (l *life) find(is func(v1.PodStatus) bool) (time.Duration, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.IndexFunc(l.statuses, is)
	if i < 0 {
		return 0, false
	}
	return l.at[i], true
}

func (l *life) last() v1.PodStatus {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.statuses) == 0 {
		return v1.PodStatus{}
	}
	return l.statuses[len(l.statuses)-1]
}

// reasons are the reasons of the Events so far, those of the kind asked for.
func (l *life) reasons(kind string) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var reasons []string
	for _, e := range l.recorded {
		if e.Type == kind {
			reasons = append(reasons, e.Reason)
		}
	}
	return reasons
}

func (l *life) stop(graceSeconds int64) {
	l.worker.Stop(lifecycle.StopRequested{GraceSeconds: &graceSeconds})
}

// gone waits for the worker's end and returns when it came; nothing of the pod is left then.
func (l *life) gone() time.Duration {
	l.Helper()
	select {
	case err := <-l.done:
		assert.Require(l, err == nil, "Run: %v", err)
	case <-time.After(patience):
		l.Fatalf("never gone; left %q, calls %q", l.Left(), l.Acted())
	}
	return time.Since(l.start)
}

// ends stops it, and waits until it is gone.
func (l *life) ends(graceSeconds int64) {
	l.Helper()
	l.stop(graceSeconds)
	l.gone()
}

// awaitCall waits until a call was made that reads so, answered or not.
func (s *story) awaitCall(text string) {
	s.Helper()
	limit := time.After(patience)
	for {
		for _, c := range s.Calls() {
			if c.String() == text {
				return
			}
		}
		select {
		case <-s.Changed():
		case <-limit:
			s.Fatalf("never %q; calls %q", text, s.Acted())
		}
	}
}

func (s *story) elapsed() time.Duration { return time.Since(s.start) }

func running(s v1.PodStatus) bool { return s.Phase == v1.PodRunning }

// restarts says that all containers run and the first has been restarted n times.
func restarts(n int32) func(v1.PodStatus) bool {
	return func(s v1.PodStatus) bool {
		return s.Phase == v1.PodRunning && s.ContainerStatuses[0].RestartCount == n && s.ContainerStatuses[0].State.Running != nil
	}
}

func waitingFor(reason string) func(v1.PodStatus) bool {
	return func(s v1.PodStatus) bool {
		return len(s.ContainerStatuses) > 0 && s.ContainerStatuses[0].State.Waiting != nil && s.ContainerStatuses[0].State.Waiting.Reason == reason
	}
}

// podOf is a pod with one container for each name, as it looks with its defaults.
func podOf(name string, policy v1.RestartPolicy, containers ...string) *v1.Pod {
	grace := int64(30)
	pod := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID("uid-" + name)},
		Spec: v1.PodSpec{
			RestartPolicy: policy, TerminationGracePeriodSeconds: &grace, DNSPolicy: v1.DNSDefault,
			SecurityContext: &v1.PodSecurityContext{},
		},
	}
	for _, c := range containers {
		pod.Spec.Containers = append(pod.Spec.Containers, v1.Container{
			Name: c, Image: image, ImagePullPolicy: v1.PullIfNotPresent,
			TerminationMessagePath: "/dev/termination-log", TerminationMessagePolicy: v1.TerminationMessageReadFile,
		})
	}
	return pod
}

type noCgroups struct{}

func (noCgroups) Path(pod *v1.Pod) string                                    { return "/pods/" + string(pod.UID) }
func (noCgroups) Ensure(*v1.Pod) error                                       { return nil }
func (noCgroups) Resize([]*v1.Pod) error                                     { return nil }
func (noCgroups) Remove(context.Context, types.UID, ...v1.PodQOSClass) error { return nil }
func (noCgroups) Expect() func()                                             { return func() {} }

func (noCgroups) Used(*v1.Pod) (podcgroup.Used, error) {
	return podcgroup.Used{MemoryPeak: 1 << 20}, nil
}

type noObjects struct{}

func (noObjects) ConfigMap(_, name string) (*v1.ConfigMap, error) {
	return nil, apierrors.NewNotFound(v1.Resource("configmaps"), name)
}

func (noObjects) Secret(_, name string) (*v1.Secret, error) {
	return nil, apierrors.NewNotFound(v1.Resource("secrets"), name)
}
