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
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	"github.com/lifepod/lifepod/lifecycle"
)

// JobSets are those that pods take part in, of this node or of all nodes of the process: all JobSets of the cluster are watched
// by one watch, from the moment a pod asks. Most nodes never see any.
type JobSets struct {
	client   dynamic.NamespaceableResourceInterface
	informer cache.SharedIndexInformer
	log      *slog.Logger
	wanted   chan struct{} // closed when the first pod joins
	want     sync.Once
	logged   sync.Once
	// asked are the JobSets that a pod has joined and that are to be read: what the watch
	// has may be old (B-GRP-2).
	asked workqueue.TypedRateLimitingInterface[types.NamespacedName]

	mu      sync.Mutex
	jobSets map[types.NamespacedName]*membership // of which there are members
	of      map[types.UID]types.NamespacedName   // the members, and their JobSets
}

// NewJobSets makes JobSets; the API server is asked nothing before a pod joins.
func NewJobSets(config *rest.Config, log *slog.Logger) (*JobSets, error) {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("client for JobSets: %w", err)
	}
	return newJobSets(client, log)
}

func newJobSets(client dynamic.Interface, log *slog.Logger) (*JobSets, error) {
	g := &JobSets{
		client: client.Resource(jobSets), log: log, wanted: make(chan struct{}),
		informer: dynamicinformer.NewFilteredDynamicInformer(client, jobSets, metav1.NamespaceAll, 0, cache.Indexers{}, nil).Informer(),
		asked:    workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[types.NamespacedName](readRetry, readRetryMost)),
		jobSets:  map[types.NamespacedName]*membership{}, of: map[types.UID]types.NamespacedName{},
	}
	if err := g.informer.SetTransform(trim); err != nil {
		return nil, fmt.Errorf("watch JobSets: %w", err)
	}
	if err := g.informer.SetWatchErrorHandlerWithContext(g.failed); err != nil {
		return nil, fmt.Errorf("watch JobSets: %w", err)
	}
	handler := cache.ResourceEventHandlerFuncs{
		AddFunc:    g.watched,
		UpdateFunc: func(_, object any) { g.watched(object) },
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

// Join calls tell with how far the pod's JobSet is, soon and after each change.
func (g *JobSets) Join(pod *v1.Pod, tell func(lifecycle.GroupSeen)) {
	name := types.NamespacedName{Namespace: pod.Namespace, Name: pod.Labels[lifecycle.JobSetLabel]}
	g.mu.Lock()
	m := g.jobSets[name]
	if m == nil {
		m = &membership{members: map[types.UID]*member{}}
		g.jobSets[name] = m
	}
	m.members[pod.UID] = &member{tell: tell}
	g.of[pod.UID] = name
	g.mu.Unlock()
	g.want.Do(func() { close(g.wanted) })
	g.asked.Add(name)
}

// Leave ends what Join began.
func (g *JobSets) Leave(uid types.UID) {
	g.mu.Lock()
	defer g.mu.Unlock()
	name, joined := g.of[uid]
	if !joined {
		return
	}
	delete(g.of, uid)
	m := g.jobSets[name]
	delete(m.members, uid)
	if len(m.members) == 0 {
		delete(g.jobSets, name)
	}
}

// Run waits for pods and then reads and watches their JobSets, until the context ends; call it
// once.
func (g *JobSets) Run(ctx context.Context) {
	stop := context.AfterFunc(ctx, g.asked.ShutDown)
	defer stop()
	select {
	case <-g.wanted:
	case <-ctx.Done():
		return
	}
	var watch sync.WaitGroup
	defer watch.Wait()
	watch.Go(func() { g.informer.RunWithContext(ctx) })
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
func (g *JobSets) read(ctx context.Context, jobSet types.NamespacedName) {
	reading := g.begin(jobSet)
	if reading == nil { // all have left, or know already
		g.asked.Forget(jobSet)
		return
	}
	limited, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	object, err := g.client.Namespace(jobSet.Namespace).Get(limited, jobSet.Name, metav1.GetOptions{})
	if err == nil {
		g.asked.Forget(jobSet)
		g.seen(jobSetOf(object), reading)
		return
	}
	if ctx.Err() != nil {
		return
	}
	if !apierrors.IsTimeout(err) && g.asked.NumRequeues(jobSet) == 0 {
		g.log.Warn("a JobSet can't be read; tried again until it is", "jobset", jobSet, "err", err)
	}
	g.unread(reading, lifecycle.GroupSeen{Unknown: lifecycle.Because{Kind: "jobset-unread", Text: jobSet.String(), Reason: err.Error()}})
	g.asked.AddRateLimited(jobSet)
}

// seen takes a JobSet as it is, or was a moment ago. reading are members for whom it was read.
func (g *JobSets) seen(jobSet *jobSet, reading []*member) {
	g.mu.Lock()
	defer g.mu.Unlock()
	m := g.jobSets[types.NamespacedName{Namespace: jobSet.Namespace, Name: jobSet.Name}]
	if m == nil {
		return
	}
	m.takes(jobSet)
	m.tells(reading)
}

// watched takes a JobSet of the watch.
func (g *JobSets) watched(object any) {
	if jobSet, is := object.(*jobSet); is {
		g.seen(jobSet, nil)
	}
}

// begin are the members that are to be told what is read from now on; nil: there are none.
func (g *JobSets) begin(jobSet types.NamespacedName) (reading []*member) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if m := g.jobSets[jobSet]; m != nil {
		for _, member := range m.members {
			if !member.read {
				reading = append(reading, member)
			}
		}
	}
	return reading
}

// unread tells members why their JobSet can't be read.
func (g *JobSets) unread(reading []*member, why lifecycle.GroupSeen) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, member := range reading {
		member.tell(why)
	}
}

// failed tells of a watch that can't be had. Who is to be told of a group reads it too, and
// is told why that can't be.
func (g *JobSets) failed(_ context.Context, _ *cache.Reflector, err error) {
	g.logged.Do(func() { g.log.Warn("JobSets are not watched; tried again until they are", "err", err) })
}
