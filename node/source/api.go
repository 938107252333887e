package source

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/lifepod/lifepod/internal/apiwatch"
	"github.com/lifepod/lifepod/roster"
)

// MirrorSink takes the mirror pods that the API source sees, which never go to the Feed. Calls come in the
// API source's goroutine.
type MirrorSink interface {
	// MirrorSeen is a mirror pod as it is now.
	MirrorSeen(pod *v1.Pod)
	// MirrorGone says that the API server has that mirror pod no longer.
	MirrorGone(pod *v1.Pod)
}

// API is the source of the pods that are bound to a node. It is to be run once the Node is registered
// (B-RST-3), and all the same comes to its pods when the API server is away.
type API struct {
	Client   kubernetes.Interface
	NodeName string
	Feed     Feed
	// Mirrors takes the mirror pods; nil drops them.
	Mirrors MirrorSink
	Log     *slog.Logger
}

// retries are the pauses while the API server is away.
var retries = wait.Backoff{Duration: 200 * time.Millisecond, Factor: 2, Jitter: 0.5, Steps: 10, Cap: 10 * time.Second}

// Run tells the Feed until ctx ends. Pods that were deleted while the API server was away, and those that
// were replaced by others of the same name, are Unwanted.
func (a *API) Run(ctx context.Context) {
	a.reflect(ctx, fields.OneTermEqualSelector("spec.nodeName", a.NodeName).String(), newPodStore(a).store())
}

// reflect keeps a store like the API server's pods that a field selects, until ctx ends.
func (a *API) reflect(ctx context.Context, selector string, store apiwatch.Store[*v1.Pod]) {
	backoff := retries
	quiet := klog.Logger{} // the reflector tells each try, outage tells what matters
	problem := &outage{log: a.Log, what: "listing and watching pods"}
	pods := apiwatch.Lister(a.Client, a.Client.CoreV1().Pods(metav1.NamespaceAll), func(o *metav1.ListOptions) { o.FieldSelector = selector }, problem.tell)
	reflector := cache.NewReflectorWithOptions(pods, &v1.Pod{}, store, cache.ReflectorOptions{
		Logger: &quiet, Name: "pods of the node", Backoff: &backoff,
	})
	again := backoff.DelayWithReset(clock.RealClock{}, 2*time.Minute)
	_ = again.Until(klog.NewContext(ctx, quiet), true, true, func(ctx context.Context) (bool, error) {
		if err := reflector.ListAndWatchWithContext(ctx); err != nil {
			a.Log.Debug("the watch of pods has ended", "err", err)
		}
		return false, nil
	}) // ends with ctx
}

// podStore is the only copy of the node's pods, kept by the reflector's goroutine.
type podStore struct {
	api   *API
	pods  map[types.NamespacedName]*v1.Pod
	heard bool
}

func newPodStore(a *API) *podStore {
	return &podStore{api: a, pods: map[types.NamespacedName]*v1.Pod{}}
}

func (s *podStore) store() apiwatch.Store[*v1.Pod] {
	return apiwatch.Store[*v1.Pod]{
		All: func(pods []*v1.Pod, _ string) { s.replace(pods) }, Put: s.put, Gone: func(pod *v1.Pod) { s.remove(nameOf(pod)) },
	}
}

func nameOf(pod *v1.Pod) types.NamespacedName {
	return types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}
}

// replace takes all pods, the oldest first as in admission. What it doesn't have is gone.
func (s *podStore) replace(pods []*v1.Pod) {
	listed := make(map[types.NamespacedName]bool, len(pods))
	for _, pod := range pods {
		listed[nameOf(pod)] = true
	}
	for _, name := range slices.SortedFunc(maps.Keys(s.pods), compareNames) {
		if !listed[name] {
			s.remove(name)
		}
	}
	slices.SortFunc(pods, func(a, b *v1.Pod) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), compareNames(nameOf(a), nameOf(b)))
	})
	for _, pod := range pods {
		s.put(pod)
	}
	if !s.heard {
		s.heard = true
		s.api.Feed.Heard(roster.API)
	}
}

func (s *podStore) put(pod *v1.Pod) {
	name := nameOf(pod)
	before := s.pods[name]
	if before != nil {
		if before.UID == pod.UID && before.ResourceVersion == pod.ResourceVersion {
			return
		}
		if before.UID != pod.UID || IsMirror(before) != IsMirror(pod) {
			s.remove(name)
		}
	}
	if IsMirror(pod) {
		s.pods[name] = pod
		if s.api.Mirrors != nil {
			s.api.Mirrors.MirrorSeen(pod)
		}
		return
	}
	mark(pod, before, roster.API)
	s.pods[name] = pod
	s.api.Feed.Wanted(roster.API, pod)
}

func (s *podStore) remove(name types.NamespacedName) {
	pod := s.pods[name]
	if pod == nil {
		return
	}
	delete(s.pods, name)
	if !IsMirror(pod) {
		s.api.Feed.Unwanted(roster.API, pod.UID)
	} else if s.api.Mirrors != nil {
		s.api.Mirrors.MirrorGone(pod)
	}
}

// outage logs that something doesn't work when it begins and when it is over, and nothing in between.
type outage struct {
	log  *slog.Logger
	what string
	on   atomic.Bool
}

// tell takes the result of a try.
func (o *outage) tell(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return
	}
	if before := o.on.Swap(err != nil); before == (err != nil) {
		return
	}
	if err != nil {
		o.log.Warn(o.what+" fails: trying again", "err", err)
		return
	}
	o.log.Info(o.what + " works again")
}
