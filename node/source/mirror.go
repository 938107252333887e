package source

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/workqueue"
)

// Mirrors keep a pod in the API server for each static pod, so that the cluster sees it (B-STA-3 to B-STA-6):
// it is made when it isn't there, made anew when it stands for another manifest or somebody deletes it, and
// deleted when its static pod is gone. What becomes of a mirror pod never changes the static pod.
//
// All that Mirrors know of the API server comes from the API source, whose MirrorSink they are.
type Mirrors struct {
	Client   kubernetes.Interface
	NodeName string
	// Changed is told that the mirror pod of a static pod has come, changed or gone: its status is to be
	// compared with the pod's. Nil if nobody wants to know.
	Changed func(static types.UID)
	// Refused is told that the API server takes no mirror pod of a static pod, and doesn't change its mind
	// for a while; once for each reason in a row. It is to become a Warning event with RefusedReason. Nil if nobody wants to know.
	Refused func(static *v1.Pod, err error)
	Log     *slog.Logger

	mu    sync.Mutex
	pods  map[types.NamespacedName]*mirrored
	heard bool
	queue workqueue.TypedRateLimitingInterface[types.NamespacedName] // nil but while Run runs
}

// RefusedReason is the reason of the event on a static pod that the API server doesn't show.
const RefusedReason = "FailedMirrorPod"

// mirrored is what there is of one name.
type mirrored struct {
	statics []*v1.Pod // the first one counts, the others wait for its end
	mirror  *v1.Pod   // as seen last
	failed  string    // the reason of the API server's for the last failure
	tries   int       // that have failed so in a row
}

func (m *mirrored) static() *v1.Pod {
	if len(m.statics) == 0 {
		return nil
	}
	return m.statics[0]
}

// mirrorUID is the UID of the mirror pod if it stands for the static pod that counts.
func (m *mirrored) mirrorUID() (types.UID, bool) {
	if !mirrors(m.mirror, m.static()) {
		return "", false
	}
	return m.mirror.UID, true
}

// mirrors says whether a mirror pod is what a static pod should have.
func mirrors(mirror, static *v1.Pod) bool {
	return mirror != nil && static != nil && mirror.DeletionTimestamp == nil &&
		mirror.Annotations[v1.MirrorPodAnnotationKey] == static.Annotations[HashAnnotation]
}

// Want asks for the mirror pod of a static pod. It is to be called when the pod begins; while another pod
// of its name has not been unwanted, that one's mirror pod stays (B-STA-6).
func (m *Mirrors) Want(static *v1.Pod) {
	m.change(nameOf(static), func(p *mirrored) bool {
		i := slices.IndexFunc(p.statics, func(s *v1.Pod) bool { return s.UID == static.UID })
		if i < 0 {
			p.statics = append(p.statics, static)
		} else {
			p.statics[i] = static
		}
		return true
	})
}

// Unwant says that a static pod has ended: its mirror pod goes. It is not to be called before, so that
// the cluster sees the pod terminate (B-STA-5).
func (m *Mirrors) Unwant(uid types.UID) {
	if name, found := m.nameOfStatic(uid); found {
		m.change(name, func(p *mirrored) bool {
			p.statics = slices.DeleteFunc(p.statics, func(s *v1.Pod) bool { return s.UID == uid })
			return true
		})
	}
}

// AllHeard says that every source of static pods has been heard: mirror pods that stand for none are
// orphans from now on (B-RST-3).
func (m *Mirrors) AllHeard() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.heard = true
	m.enqueueAll()
}

// MirrorSeen takes a mirror pod as the API server has it.
func (m *Mirrors) MirrorSeen(pod *v1.Pod) {
	m.change(nameOf(pod), func(p *mirrored) bool {
		p.mirror = pod
		return true
	})
}

// MirrorGone takes the end of a mirror pod.
func (m *Mirrors) MirrorGone(pod *v1.Pod) {
	m.change(nameOf(pod), func(p *mirrored) bool {
		if p.mirror == nil || p.mirror.UID != pod.UID {
			return false
		}
		p.mirror = nil
		return true
	})
}

// change makes a change to what there is of a name, and has it looked at if there was one.
func (m *Mirrors) change(name types.NamespacedName, do func(*mirrored) bool) {
	m.mu.Lock()
	if m.pods == nil {
		m.pods = map[types.NamespacedName]*mirrored{}
	}
	p := m.pods[name]
	if p == nil {
		p = &mirrored{}
		m.pods[name] = p
	}
	before := p.mirror
	changed := do(p)
	static := p.static()
	notify := static != nil && p.mirror != before
	if static == nil && p.mirror == nil {
		delete(m.pods, name)
	}
	if changed && m.queue != nil {
		m.queue.Add(name)
	}
	m.mu.Unlock()
	if notify && m.Changed != nil {
		m.Changed(static.UID)
	}
}

func (m *Mirrors) nameOfStatic(uid types.UID) (types.NamespacedName, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for name, p := range m.pods {
		if slices.ContainsFunc(p.statics, func(s *v1.Pod) bool { return s.UID == uid }) {
			return name, true
		}
	}
	return types.NamespacedName{}, false
}

// Of is the mirror pod of a static pod, nil as long as there is none that stands for it. Its status is
// what the cluster was told last (B-RST-7).
func (m *Mirrors) Of(static types.UID) *v1.Pod {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, p := range m.pods {
		if s := p.static(); s != nil && s.UID == static && mirrors(p.mirror, s) {
			return p.mirror
		}
	}
	return nil
}

// StaticOf is the UID of the static pod that a mirror pod stands for.
func (m *Mirrors) StaticOf(mirror types.UID) (static types.UID, found bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, p := range m.pods {
		if uid, ok := p.mirrorUID(); ok && uid == mirror {
			return p.static().UID, true
		}
	}
	return "", false
}

// Count is the number of mirror pods that the API server has of this node.
func (m *Mirrors) Count() (count int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, p := range m.pods {
		if p.mirror != nil {
			count++
		}
	}
	return count
}

// Run makes the API server have what is wanted, until ctx ends.
func (m *Mirrors) Run(ctx context.Context) {
	queue := workqueue.NewTypedRateLimitingQueue[types.NamespacedName](jittered{
		workqueue.NewTypedItemExponentialFailureRateLimiter[types.NamespacedName](100*time.Millisecond, time.Minute),
	})
	m.mu.Lock()
	m.queue = queue
	m.enqueueAll()
	m.mu.Unlock()
	stop := context.AfterFunc(ctx, queue.ShutDown)
	defer stop()
	for {
		name, shutdown := queue.Get()
		if shutdown {
			return
		}
		if m.sync(ctx, name) == nil {
			queue.Forget(name)
		} else {
			queue.AddRateLimited(name)
		}
		queue.Done(name)
	}
}

func (m *Mirrors) enqueueAll() {
	if m.queue == nil {
		return
	}
	for name := range m.pods {
		m.queue.Add(name)
	}
}

// jittered spreads the retries of many nodes.
type jittered struct {
	workqueue.TypedRateLimiter[types.NamespacedName]
}

// When is the pause before the next try.
func (j jittered) When(name types.NamespacedName) time.Duration {
	return wait.Jitter(j.TypedRateLimiter.When(name), 0.5)
}
