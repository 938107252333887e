package groups

import (
	"context"
	"strconv"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"github.com/lifepod/lifepod/internal/apiwatch"
	"github.com/lifepod/lifepod/internal/mailbox"
	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/lifecycle/group"
)

// watched are the pods of a group, as one watch shows them (B-GRP-22). It is the store of the watch.
type watched struct {
	apiwatch.Store[*v1.Pod]
	changed mailbox.Signal

	mu      sync.Mutex
	known   bool // the list is complete
	changes int
	version uint64
	all     map[types.UID]placed
}

// placed is a member, and where its node is.
type placed struct {
	group.Placed
	hostIP string
}

func (g *memberGroup) only(o *metav1.ListOptions) {
	o.LabelSelector, o.FieldSelector = lifecycle.GroupNameLabel+"="+g.name.Name, "status.phase!="+string(v1.PodFailed)
}

// watch watches the pods of the group that have not failed, until the context ends.
func (g *memberGroup) watch(ctx context.Context) (w *watched, ended *sync.WaitGroup) {
	w = &watched{changed: mailbox.NewSignal(), all: map[types.UID]placed{}}
	w.Store = apiwatch.Store[*v1.Pod]{
		All:  func(pods []*v1.Pod, version string) { w.read(versionOf(version), pods) },
		Put:  func(pod *v1.Pod) { w.take(pod, false) },
		Gone: func(pod *v1.Pod) { w.take(pod, true) },
	}
	reflector := cache.NewReflectorWithOptions(
		apiwatch.Lister(g.Client, g.Client.CoreV1().Pods(g.name.Namespace), g.only, nil), &v1.Pod{}, w, cache.ReflectorOptions{Name: "group " + g.name.String()},
	)
	pauses := wait.Backoff{Duration: readRetry, Factor: 2, Steps: 10, Cap: readRetryMost}.DelayWithReset(clock.RealClock{}, 2*time.Minute)
	ended = &sync.WaitGroup{}
	ended.Go(func() {
		_ = pauses.Until(ctx, true, true, func(ctx context.Context) (bool, error) {
			if err := reflector.ListAndWatchWithContext(ctx); err != nil && ctx.Err() == nil && !w.isKnown() {
				g.unreadable(err)
			}
			return false, nil
		})
	})
	return w, ended
}

// list reads the pods of the group consistently.
func (g *memberGroup) list(ctx context.Context, o metav1.ListOptions) (*v1.PodList, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	g.only(&o)
	return g.Client.CoreV1().Pods(g.name.Namespace).List(ctx, o)
}

// placedOf is the member that a pod is; false: it is none.
func placedOf(pod *v1.Pod) (p placed, is bool) {
	p.Peer, is = lifecycle.GroupPeer(&pod.ObjectMeta)
	p.Node, p.Version, p.hostIP = pod.Spec.NodeName, versionOf(pod.ResourceVersion), pod.Status.HostIP
	return p, is
}

func versionOf(text string) uint64 {
	version, _ := strconv.ParseUint(text, 10, 64) // they are numbers (KEP-5504)
	return version
}

func (w *watched) isKnown() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.known
}

// change tells of a change; it is called with mu held.
func (w *watched) change() {
	w.changes++
	w.changed.Send()
}

// count is how many changes there were.
func (w *watched) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.changes
}

// now are the members, and the version in which they were so; false: not known yet.
func (w *watched) now() (version uint64, all []group.Placed, known bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range w.all {
		all = append(all, p.Placed)
	}
	return w.version, all, w.known
}

// hostIP is where a node is; empty: it is not known, or has no member.
func (w *watched) hostIP(node string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range w.all {
		if p.Node == node && p.hostIP != "" {
			return p.hostIP
		}
	}
	return ""
}

// take takes a pod as it is now, or that is gone, has failed, or has another group now.
func (w *watched) take(pod *v1.Pod, gone bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	version := versionOf(pod.ResourceVersion)
	if gone && version < w.all[pod.UID].Version || !gone && version < w.version {
		return // what was read is newer
	}
	w.version = max(w.version, version)
	w.put(pod, gone)
	w.change()
}

// put is called with mu held.
func (w *watched) put(pod *v1.Pod, gone bool) {
	if p, is := placedOf(pod); is && !gone {
		w.all[pod.UID] = p
		return
	}
	delete(w.all, pod.UID)
}

// read takes all pods in that version, unless a newer one is known.
func (w *watched) read(version uint64, pods []*v1.Pod) {
	w.mu.Lock()
	defer w.mu.Unlock()
	defer w.change()
	if w.known && version < w.version {
		return
	}
	w.known, w.version = true, version
	clear(w.all)
	for _, pod := range pods {
		w.put(pod, false)
	}
}

// UpdateResourceVersion takes how far the watch has come, also where no pod of the group has changed.
func (w *watched) UpdateResourceVersion(version string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if v := versionOf(version); v > w.version {
		w.version = v
		w.change()
	}
}
