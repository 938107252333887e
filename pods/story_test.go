package pods

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lifepod/lifepod/cri/crifake"
	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/node/source"
	"github.com/lifepod/lifepod/roster"
	"github.com/lifepod/lifepod/worker"
	"github.com/lifepod/lifepod/worker/criconfig"
	"github.com/lifepod/lifepod/worker/images"
	"github.com/lifepod/lifepod/worker/podcgroup"
)

const image = "example.org/app:1"

// story is a node with a pretended runtime and a pretended API server, in a bubble
// of virtual time. One agent follows the other on it.
type story struct {
	*testing.T
	*crifake.Runtime
	*api
	node      *v1.Node
	dir       string
	sources   []roster.Source
	foreign   func(types.UID) bool
	pods      *Shell
	stop      func() // ends the agent of now, as SIGTERM does
	cgroups   cgroups
	freshly   func(context.Context) (*v1.Node, error)
	timeouts  worker.Timeouts
	periods   []roster.Period
	inhibits  inhibitor
	counts    counted
	allocator Allocator
	health    Health
	groups    Groups
}

// tell runs a story with its first agent, whose sources are those named.
func tell(t *testing.T, play func(s *story), sources ...roster.Source) {
	synctest.Test(t, func(t *testing.T) {
		s := &story{
			T: t, Runtime: crifake.New(image), dir: t.TempDir(), sources: sources, api: &api{t: t, statuses: map[types.UID]v1.PodStatus{}, hashes: map[types.UID]string{}},
			timeouts: worker.DefaultTimeouts(), node: &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}},
		}
		if len(sources) == 0 {
			s.sources = []roster.Source{roster.API}
		}
		s.node.Status.Allocatable = resources("4", "8Gi")
		s.node.Status.Allocatable[v1.ResourcePods] = resource.MustParse("200")
		s.agent()
		play(s)
		s.stop()
		assert.Empty(t, s.Doubled(), "two instances of one container ran at the same time")
	})
}

// tellOf runs a story of a name.
func tellOf(t *testing.T, name string, play func(t *testing.T, s *story), sources ...roster.Source) {
	t.Run(name, func(t *testing.T) { tell(t, func(s *story) { play(t, s) }, sources...) })
}

// agent begins an agent; the one before has been stopped.
func (s *story) agent() {
	inbox := NewInbox()
	engine := &worker.Engine{
		Runtime: s.Runtime, Images: images.New(s.Runtime, images.Options{}), Cgroups: &s.cgroups,
		API: worker.API{Objects: func(*v1.Pod) worker.Objects { return noObjects{} }}, Admission: worker.Admission{Room: inbox.Room},
		Log: slog.New(slog.DiscardHandler), Folders: worker.Folders{Pods: filepath.Join(s.dir, "pods")},
		Config: criconfig.Node{LogRoot: filepath.Join(s.dir, "logs")}, Options: lifecycle.DefaultOptions(), Timeouts: s.timeouts,
	}
	engine.Options.HostIPs, engine.Options.KeepRecords = []string{"192.0.2.1"}, true
	pods := New(Config{
		Inbox: inbox, Engine: engine, Sources: s.sources, Node: func() *v1.Node { return s.node }, Memory: s.memory(), Log: engine.Log,
		Cluster: Cluster{Statuses: s.api, Events: s.api, Mirrors: s.api, Objects: s.api, Groups: s.groups, FreshNode: s.freshly},
		Local:   Local{Foreign: s.foreign, LogLinks: &LogLinksFolder{Dir: filepath.Join(s.dir, "links")}}, Shutdowns: &s.inhibits, Periods: s.periods, Counts: &s.counts, Allocator: s.allocator, Health: s.health,
	})
	ctx, cancel := context.WithCancel(context.Background())
	assert.Must(s, pods.Open(ctx))
	s.pods = pods
	s.stop = func() {
		cancel()
		pods.Wait()
	}
}

func (s *story) memory() MemoryFolder { return MemoryFolder{Dir: filepath.Join(s.dir, "memory")} }

// heard ends the beginning of all sources.
func (s *story) heard() {
	for _, origin := range s.sources {
		s.pods.Heard(origin)
	}
	s.settle()
}

// begins lets the agent hear of these pods of the API, and that they are all.
func (s *story) begins(pods ...*v1.Pod) {
	s.apply(pods...)
	s.heard()
}

// settle lets everything happen that needs a moment.
func (s *story) settle() {
	time.Sleep(5 * time.Second)
	synctest.Wait()
}

func (s *story) apply(pods ...*v1.Pod) {
	for _, pod := range pods {
		s.pods.Wanted(roster.API, pod)
	}
}

// deletes has the API mark a pod as deleted.
func (s *story) deletes(pod *v1.Pod, graceSeconds int64) *v1.Pod {
	pod = pod.DeepCopy()
	pod.Generation++
	pod.DeletionTimestamp = &metav1.Time{Time: time.Now().Add(time.Duration(graceSeconds) * time.Second)}
	pod.DeletionGracePeriodSeconds = &graceSeconds
	s.apply(pod)
	return pod
}

func (s *story) phase(name string) v1.PodPhase {
	pod, found := s.pods.Pod("default", name)
	if !found {
		return "none"
	}
	return pod.Status.Phase
}

func (s *story) wantPhase(name string, want v1.PodPhase) {
	s.Helper()
	got := s.phase(name)
	assert.Require(s, got == want, "%s is %s, want %s; calls %q", name, got, want, s.Acted())
}

func (s *story) acted(text string) int {
	return len(slices.DeleteFunc(s.Acted(), func(call string) bool { return call != text }))
}

func (s *story) wantActed(text string, times int) {
	s.Helper()
	got := s.acted(text)
	assert.Require(s, got == times, "%d times %s, want %d; calls %q", got, text, times, s.Acted())
}

// podOf is a pod of the API with one container, as it looks with its defaults.
func podOf(name string, changes ...func(*v1.Pod)) *v1.Pod {
	pod := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID("uid-" + name), Generation: 1},
		Spec: v1.PodSpec{
			RestartPolicy: v1.RestartPolicyAlways, TerminationGracePeriodSeconds: new(int64(30)), DNSPolicy: v1.DNSDefault,
			SecurityContext: &v1.PodSecurityContext{},
			Containers: []v1.Container{{
				Name: "main", Image: image, ImagePullPolicy: v1.PullIfNotPresent,
				TerminationMessagePath: "/dev/termination-log", TerminationMessagePolicy: v1.TerminationMessageReadFile,
			}},
		},
	}
	for _, change := range changes {
		change(pod)
	}
	return pod
}

// staticPod is a pod of the folder; its UID tells versions of it apart.
func staticPod(name, version string) *v1.Pod {
	return podOf(name, func(pod *v1.Pod) {
		pod.UID = types.UID(name + "-" + version)
		pod.Annotations = map[string]string{source.SourceAnnotation: string(roster.File)}
	})
}

func never(pod *v1.Pod) { pod.Spec.RestartPolicy = v1.RestartPolicyNever }

func requesting(cpu string) func(*v1.Pod) {
	return func(pod *v1.Pod) { pod.Spec.Containers[0].Resources.Requests = resources(cpu, "64Mi") }
}

func critical(pod *v1.Pod) { pod.Spec.Priority = new(int32(2000001000)) }

func resources(cpu, memory string) v1.ResourceList {
	return v1.ResourceList{v1.ResourceCPU: resource.MustParse(cpu), v1.ResourceMemory: resource.MustParse(memory)}
}

// api is what an API server is told.
type api struct {
	t        *testing.T
	mu       sync.Mutex
	statuses map[types.UID]v1.PodStatus
	hashes   map[types.UID]string // of static pods, with which their statuses come
	notes    []string             // annotations that came with statuses, each once
	deleted  []string
	recorded []string // events: pod reason
	mirrors  []string
	// shown are the mirror pods that it has, by the static pod's UID.
	shown map[types.UID]*v1.Pod
	sets  []v1.PodPhase // of all statuses, in order
	hangs map[string]chan struct{}
	slow  time.Duration // until every status is reported
}

// hang has whoever sets a pod's status wait until it is released.
func (a *api) hang(pod string, release chan struct{}) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.hangs = map[string]chan struct{}{pod: release}
}

// Annotate notes what is to be written with the next status.
func (a *api) Annotate(pod *v1.Pod, annotations map[string]string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for key, value := range annotations {
		if note := pod.Name + " " + key + "=" + value; !slices.Contains(a.notes, note) {
			a.notes = append(a.notes, note)
		}
	}
}

func (a *api) Set(pod *v1.Pod, hash string, status v1.PodStatus, seen func(error)) {
	a.mu.Lock()
	hangs := a.hangs[pod.Name]
	a.mu.Unlock()
	if hangs != nil {
		<-hangs
	}
	a.mu.Lock()
	assert.True(a.t, !ready(&status) || status.Phase != v1.PodFailed, "%s is Failed and Ready (B-E2E-12)", pod.Name)
	a.statuses[pod.UID] = status
	a.hashes[pod.UID] = hash
	a.sets = append(a.sets, status.Phase)
	a.mu.Unlock()
	if seen != nil {
		seen(nil)
	}
}

func ready(status *v1.PodStatus) bool {
	return slices.ContainsFunc(status.Conditions, func(c v1.PodCondition) bool {
		return c.Type == v1.PodReady && c.Status == v1.ConditionTrue
	})
}

func (a *api) Delete(pod *v1.Pod, status v1.PodStatus) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.statuses[pod.UID] = status
	a.deleted = append(a.deleted, fmt.Sprintf("%s %s", pod.Name, status.Phase))
}

func (a *api) Forget(types.UID) {}

// AwaitSent waits for reports if they are slow.
func (a *api) AwaitSent(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(a.slow):
	}
}

func (a *api) Pod(pod *v1.Pod, _ time.Time, event lifecycle.RecordEvent) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.recorded = append(a.recorded, pod.Name+" "+event.Reason)
}

// events are those that were recorded: pod and reason.
func (a *api) events() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.recorded)
}

func (a *api) Register(*v1.Pod)     {}
func (a *api) Unregister(types.UID) {}
func (a *api) Want(pod *v1.Pod)     { a.mirror("want " + string(pod.UID)) }
func (a *api) Unwant(uid types.UID) { a.mirror("unwant " + string(uid)) }
func (a *api) AllHeard()            {}
func (a *api) Of(static types.UID) *v1.Pod {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.shown[static]
}

func (a *api) status(uid types.UID) v1.PodStatus {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.statuses[uid]
}

func (a *api) mirror(text string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.mirrors = append(a.mirrors, text)
}

func (a *api) deletions() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.deleted)
}

// cgroups are pretended; making that of a pod can be made to panic.
type cgroups struct {
	mu     sync.Mutex
	panics map[types.UID]int
}

func (c *cgroups) Path(pod *v1.Pod) string { return "/pods/" + string(pod.UID) }

func (c *cgroups) Expect() func() { return func() {} }

func (c *cgroups) Used(*v1.Pod) (podcgroup.Used, error) { return podcgroup.Used{}, nil }

func (c *cgroups) Ensure(pod *v1.Pod) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.panics[pod.UID] > 0 {
		c.panics[pod.UID]--
		panic(panicOfCgroup + pod.Name)
	}
	return nil
}

func (c *cgroups) Resize([]*v1.Pod) error                                     { return nil }
func (c *cgroups) Remove(context.Context, types.UID, ...v1.PodQOSClass) error { return nil }

// noObjects has no ConfigMaps and Secrets: no pod of a story asks for any.
type noObjects struct{ worker.Objects }

// counted keeps what was counted; the roster's goroutine counts.
type counted struct {
	noCounts
	preempted []v1.ResourceName
}

func (c *counted) Preempted(missing v1.ResourceName) { c.preempted = append(c.preempted, missing) }
