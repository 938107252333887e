// Package groups tells pods how far their groups are that restart as one (B-GRP). A pod
// asks for its JobSet to be its group; all JobSets of the cluster are watched by one
// watch, from the moment a pod asks: most nodes never see any. What follows is decided
// elsewhere (lifecycle/group).
package groups

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	"github.com/lifepod/lifepod/lifecycle"
)

// Groups are the JobSets that pods of this node take part in.
type Groups struct {
	client   dynamic.NamespaceableResourceInterface
	informer cache.SharedIndexInformer
	log      *slog.Logger
	wanted   chan struct{} // closed when the first pod joins
	want     sync.Once
	told     sync.Once
	// asked are the JobSets that a pod has joined and that are to be read: what the watch
	// has may be old (B-GRP-2).
	asked workqueue.TypedRateLimitingInterface[types.NamespacedName]

	mu      sync.Mutex
	members map[types.UID]member
	newest  map[types.NamespacedName]version
}

// version is a JobSet as it was last.
type version struct {
	resource string // its resourceVersion
	seen     lifecycle.GroupSeen
}

// member is a pod, and who is told.
type member struct {
	jobSet types.NamespacedName
	tell   func(lifecycle.GroupSeen)
	read   bool // its JobSet was read since it has joined: what the watch has may be older than the pod (B-GRP-2)
}

// New makes Groups; the API server is asked nothing before a pod joins.
func New(config *rest.Config, log *slog.Logger) (*Groups, error) {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("client for JobSets: %w", err)
	}
	return newGroups(client, log)
}

func newGroups(client dynamic.Interface, log *slog.Logger) (*Groups, error) {
	g := &Groups{
		client: client.Resource(jobSets), log: log, wanted: make(chan struct{}),
		informer: dynamicinformer.NewFilteredDynamicInformer(client, jobSets, metav1.NamespaceAll, 0, cache.Indexers{}, nil).Informer(),
		asked:    workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[types.NamespacedName](readRetry, readRetryMost)),
		members:  map[types.UID]member{}, newest: map[types.NamespacedName]version{},
	}
	if err := g.informer.SetTransform(trim); err != nil {
		return nil, fmt.Errorf("watch JobSets: %w", err)
	}
	if err := g.informer.SetWatchErrorHandlerWithContext(g.failed); err != nil {
		return nil, fmt.Errorf("watch JobSets: %w", err)
	}
	handler := cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { g.seen(object) },
		UpdateFunc: func(_, object any) { g.seen(object) },
	}
	if _, err := g.informer.AddEventHandler(handler); err != nil {
		return nil, fmt.Errorf("watch JobSets: %w", err)
	}
	return g, nil
}

// A JobSet that can't be read is read again after these pauses.
const (
	readRetry     = 200 * time.Millisecond
	readRetryMost = 10 * time.Second
	readTimeout   = 10 * time.Second
)

// Join has a pod told how far its JobSet is, soon and after each change (pods.Groups).
func (g *Groups) Join(pod *v1.Pod, tell func(lifecycle.GroupSeen)) {
	m := member{jobSet: types.NamespacedName{Namespace: pod.Namespace, Name: pod.Labels[lifecycle.JobSetLabel]}, tell: tell}
	g.mu.Lock()
	g.members[pod.UID] = m
	g.mu.Unlock()
	g.want.Do(func() { close(g.wanted) })
	g.asked.Add(m.jobSet)
}

// Leave ends that.
func (g *Groups) Leave(uid types.UID) {
	g.mu.Lock()
	defer g.mu.Unlock()
	left := g.members[uid].jobSet
	delete(g.members, uid)
	for _, m := range g.members {
		if m.jobSet == left {
			return
		}
	}
	delete(g.newest, left)
}

// Run waits for the first pod and then reads and watches, until the context ends; call it
// once.
func (g *Groups) Run(ctx context.Context) {
	select {
	case <-g.wanted:
	case <-ctx.Done():
		return
	}
	var watch sync.WaitGroup
	defer watch.Wait()
	watch.Go(func() { g.informer.RunWithContext(ctx) })
	stop := context.AfterFunc(ctx, g.asked.ShutDown)
	defer stop()
	for {
		jobSet, closed := g.asked.Get()
		if closed {
			return
		}
		g.read(ctx, jobSet)
		g.asked.Done(jobSet)
	}
}

// read reads a JobSet from the API server itself.
func (g *Groups) read(ctx context.Context, jobSet types.NamespacedName) {
	waiting := g.membersOf(jobSet)
	limited, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	object, err := g.client.Namespace(jobSet.Namespace).Get(limited, jobSet.Name, metav1.GetOptions{})
	if err == nil {
		g.asked.Forget(jobSet)
		g.note(object)
		g.joined(waiting)
		g.tellAll(jobSet) // also what the watch has had since: who had not joined was not told of it
		return
	}
	if ctx.Err() != nil || len(waiting) == 0 {
		return
	}
	if !apierrors.IsTimeout(err) && g.asked.NumRequeues(jobSet) == 0 {
		g.log.Warn("a JobSet can't be read; tried again until it is", "jobset", jobSet, "err", err)
	}
	for _, m := range waiting {
		m.tell(lifecycle.GroupSeen{Unknown: fmt.Sprintf("JobSet %s can't be read: %v", jobSet, err)})
	}
	g.asked.AddRateLimited(jobSet)
}

// seen takes a JobSet as it is, or was a moment ago.
func (g *Groups) seen(object any) {
	jobSet, is := object.(*unstructured.Unstructured)
	if !is {
		return
	}
	if g.note(jobSet) {
		g.tellAll(nameOfSet(jobSet))
	}
}

func nameOfSet(jobSet *unstructured.Unstructured) types.NamespacedName {
	return types.NamespacedName{Namespace: jobSet.GetNamespace(), Name: jobSet.GetName()}
}

// tellAll tells who has joined a JobSet how far that is.
func (g *Groups) tellAll(jobSet types.NamespacedName) {
	g.mu.Lock()
	newest, known := g.newest[jobSet]
	g.mu.Unlock()
	for _, m := range g.membersOf(jobSet) {
		if m.read && known {
			m.tell(newest.seen)
		}
	}
}

// joined notes whose JobSet was read.
func (g *Groups) joined(members map[types.UID]member) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for uid := range members {
		if m, still := g.members[uid]; still {
			m.read = true
			g.members[uid] = m
		}
	}
}

// note keeps a JobSet that pods have joined, and says whether it is not older than what was kept before. A pod that has joined
// since has not been told that, so that it counts again.
func (g *Groups) note(jobSet *unstructured.Unstructured) bool {
	name := nameOfSet(jobSet)
	if len(g.membersOf(name)) == 0 {
		return false
	}
	now := version{resource: jobSet.GetResourceVersion(), seen: standing(jobSet)}
	g.mu.Lock()
	defer g.mu.Unlock()
	if last, any := g.newest[name]; any {
		if order, err := resourceversion.CompareResourceVersion(now.resource, last.resource); err == nil && order < 0 {
			return false
		}
	}
	g.newest[name] = now
	return true
}

func (g *Groups) membersOf(jobSet types.NamespacedName) map[types.UID]member {
	g.mu.Lock()
	defer g.mu.Unlock()
	all := map[types.UID]member{}
	for uid, m := range g.members {
		if m.jobSet == jobSet {
			all[uid] = m
		}
	}
	return all
}

// failed tells of a watch that can't be had. Who is to be told of a group reads it too, and
// is told why that can't be.
func (g *Groups) failed(_ context.Context, _ *cache.Reflector, err error) {
	g.told.Do(func() { g.log.Warn("JobSets are not watched; tried again until they are", "err", err) })
}
