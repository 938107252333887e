package source

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

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
	a.reflect(ctx, fields.OneTermEqualSelector("spec.nodeName", a.NodeName).String(), newPodStore(a))
}

// reflect keeps a store like the API server's pods that a field selects, until ctx ends.
func (a *API) reflect(ctx context.Context, selector string, store cache.ReflectorStore) {
	backoff := retries
	quiet := klog.Logger{} // the reflector tells each try, outage tells what matters
	reflector := cache.NewReflectorWithOptions(a.listWatch(selector), &v1.Pod{}, store, cache.ReflectorOptions{
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

func (a *API) listWatch(selector string) cache.ListerWatcher {
	o := &outage{log: a.Log, what: "listing and watching pods"}
	pods := a.Client.CoreV1().Pods(metav1.NamespaceAll)
	return cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			options.FieldSelector = selector
			list, err := pods.List(ctx, options)
			o.tell(ctx, err)
			return list, err
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			options.FieldSelector = selector
			w, err := pods.Watch(ctx, options)
			o.tell(ctx, err)
			return w, err
		},
	}, a.Client)
}

// podStore is the only copy of the node's pods. The reflector calls it from one goroutine.
type podStore struct {
	api   *API
	pods  map[types.NamespacedName]*v1.Pod
	heard bool
}

func newPodStore(a *API) *podStore {
	return &podStore{api: a, pods: map[types.NamespacedName]*v1.Pod{}}
}

func notAPod(object any) error {
	return fmt.Errorf("take a pod from the API server: it is a %T", object)
}

func nameOf(pod *v1.Pod) types.NamespacedName {
	return types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}
}

// Add takes a pod as the API server has it.
func (s *podStore) Add(object any) error { return s.Update(object) }

// Update does the same.
func (s *podStore) Update(object any) error {
	pod, ok := object.(*v1.Pod)
	if !ok {
		return notAPod(object)
	}
	s.put(pod)
	return nil
}

// Delete forgets a pod that the API server has no longer.
func (s *podStore) Delete(object any) error {
	pod, ok := object.(*v1.Pod)
	if !ok {
		return notAPod(object)
	}
	s.remove(nameOf(pod))
	return nil
}

// Replace takes all pods, the oldest first as in admission. What it doesn't have is gone.
func (s *podStore) Replace(objects []any, _ string) error {
	listed := make(map[types.NamespacedName]bool, len(objects))
	pods := make([]*v1.Pod, 0, len(objects))
	for _, object := range objects {
		pod, ok := object.(*v1.Pod)
		if !ok {
			return fmt.Errorf("take the list of pods from the API server: it has a %T", object)
		}
		listed[nameOf(pod)] = true
		pods = append(pods, pod)
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
	return nil
}

// Resync does nothing: nobody wants to hear of what hasn't changed.
func (s *podStore) Resync() error { return nil }

// Transformer trims pods while a list of them is gathered.
func (s *podStore) Transformer() cache.TransformFunc { return trim }

func trim(object any) (any, error) {
	if pod, ok := object.(*v1.Pod); ok {
		pod.ManagedFields = nil
	}
	return object, nil
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
	pod.ManagedFields = nil
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
