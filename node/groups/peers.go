package groups

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/lifecycle/group"
)

// peers are the groups without a leader that pods take part in (B-GRP-17): each is watched by one watch of its pods'
// metadata, as long as it has members here (B-GRP-22).
type peers struct {
	client metadata.Interface
	log    *slog.Logger

	mu     sync.Mutex
	groups map[types.NamespacedName]*peerGroup
	of     map[types.UID]*peerGroup // the members, and their groups
	begin  func(*peerGroup)         // has a group followed; nil: not yet, or no more
}

func newPeers(client metadata.Interface, log *slog.Logger) *peers {
	return &peers{
		client: client, log: log,
		groups: map[types.NamespacedName]*peerGroup{}, of: map[types.UID]*peerGroup{},
	}
}

func (p *peers) join(pod *v1.Pod, tell func(lifecycle.GroupSeen)) {
	name := types.NamespacedName{Namespace: pod.Namespace, Name: pod.Labels[lifecycle.GroupNameLabel]}
	p.mu.Lock()
	defer p.mu.Unlock()
	g := p.groups[name]
	if g == nil {
		g = newPeerGroup(name)
		p.groups[name] = g
		if p.begin != nil {
			p.begin(g)
		}
	}
	p.of[pod.UID] = g
	g.join(pod.UID, tell)
}

func (p *peers) leave(uid types.UID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	g := p.of[uid]
	if g == nil {
		return
	}
	delete(p.of, uid)
	if g.leave(uid) == 0 {
		delete(p.groups, g.name)
		close(g.left)
	}
}

// run follows the groups until the context ends.
func (p *peers) run(ctx context.Context) {
	var following sync.WaitGroup
	defer following.Wait()
	p.mu.Lock()
	p.begin = func(g *peerGroup) {
		ctx, end := context.WithCancel(ctx)
		following.Go(func() {
			defer end()
			select {
			case <-ctx.Done():
			case <-g.left:
			}
		})
		following.Go(func() { p.follow(ctx, g) })
		following.Go(func() { g.tells(ctx) })
	}
	for _, g := range p.groups {
		p.begin(g)
	}
	p.mu.Unlock()
	<-ctx.Done()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.begin = nil
}

// follow keeps what is known of a group's members as the API server has them.
func (p *peers) follow(ctx context.Context, g *peerGroup) {
	options := cache.ReflectorOptions{Name: "group " + g.name.String()}
	reflector := cache.NewReflectorWithOptions(p.pods(g.name), &metav1.PartialObjectMetadata{}, g, options)
	pauses := wait.Backoff{Duration: readRetry, Factor: 2, Steps: 10, Cap: readRetryMost}.DelayWithReset(clock.RealClock{}, 2*time.Minute)
	_ = pauses.Until(ctx, true, true, func(ctx context.Context) (bool, error) {
		if err := reflector.ListAndWatchWithContext(ctx); err != nil && ctx.Err() == nil && g.failed(err) {
			p.log.Warn("the pods of a group can't be read; tried again until they are", "group", g.name, "err", err)
		}
		return false, nil
	})
}

// pods lists and watches the pods of a group that have not failed.
func (p *peers) pods(name types.NamespacedName) cache.ListerWatcher {
	client := p.client.Resource(v1.SchemeGroupVersion.WithResource("pods")).Namespace(name.Namespace)
	only := func(o metav1.ListOptions) metav1.ListOptions {
		o.LabelSelector, o.FieldSelector = lifecycle.GroupNameLabel+"="+name.Name, "status.phase!="+string(v1.PodFailed)
		return o
	}
	return cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			return client.List(ctx, only(o))
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			return client.Watch(ctx, only(o))
		},
	}, p.client)
}

// unreadable is why the members of a group are not known.
func unreadable(name types.NamespacedName, err error) lifecycle.GroupSeen {
	return lifecycle.GroupSeen{Unknown: fmt.Sprintf("the pods of group %s can't be read: %v", name, err)}
}

// namesMost is how many replicated jobs are named at most.
const namesMost = 3

// Where a JobSet has its replicated jobs, and what its controller says of the Jobs of each.
func jobsPath() []string   { return []string{"spec", "replicatedJobs"} }
func statusPath() []string { return []string{"status", "replicatedJobsStatus"} }

func parallelismPath() []string { return []string{"template", "spec", "parallelism"} }

// sizeOf is how many members a JobSet has (B-GRP-7), and which of its Jobs are neither active nor have succeeded: they
// have no pod that is pending or runs (B-GRP-16).
func sizeOf(jobSet *unstructured.Unstructured) group.Size {
	var size group.Size
	var where []string
	standing := map[string]map[string]any{}
	for _, job := range list(jobSet, statusPath()) {
		standing[nameOf(job)] = job
	}
	for _, job := range list(jobSet, jobsPath()) {
		replicas, parallelism := number(job, "replicas"), number(job, parallelismPath()...)
		size.Members += replicas * parallelism
		now, known := standing[nameOf(job)]
		if podless := replicas - number(now, "active") - number(now, "succeeded"); known && podless > 0 {
			size.Podless += podless * parallelism
			where = append(where, fmt.Sprintf("%d of %d Jobs of %s", podless, replicas, nameOf(job)))
		}
	}
	if more := len(where) - namesMost; more > 0 {
		where = append(where[:namesMost], fmt.Sprintf("Jobs of %d others", more))
	}
	size.Where = strings.Join(where, ", ")
	return size
}

func list(jobSet *unstructured.Unstructured, path []string) (all []map[string]any) {
	items, _, err := unstructured.NestedSlice(jobSet.Object, path...)
	if err != nil {
		return nil
	}
	for _, item := range items {
		if job, is := item.(map[string]any); is {
			all = append(all, job)
		}
	}
	return all
}

func nameOf(job map[string]any) string {
	name, _, _ := unstructured.NestedString(job, "name") // the schema has it be one
	return name
}

// number is one of 32 bits, by the JobSet's schema; missing: 0.
func number(job map[string]any, path ...string) int32 {
	value, _, _ := unstructured.NestedInt64(job, path...)
	return int32(value)
}

// trimJobs keeps of a JobSet's replicated jobs what sizeOf looks at.
func trimJobs(jobSet, kept *unstructured.Unstructured) error {
	jobs, standing := []any{}, []any{}
	for _, job := range list(jobSet, jobsPath()) {
		trimmed := map[string]any{"name": nameOf(job), "replicas": int64(number(job, "replicas"))}
		if err := unstructured.SetNestedField(trimmed, int64(number(job, parallelismPath()...)), parallelismPath()...); err != nil {
			return fmt.Errorf("trim JobSet %s/%s: %w", jobSet.GetNamespace(), jobSet.GetName(), err)
		}
		jobs = append(jobs, trimmed)
	}
	for _, job := range list(jobSet, statusPath()) {
		standing = append(standing, map[string]any{
			"name": nameOf(job), "active": int64(number(job, "active")), "succeeded": int64(number(job, "succeeded")),
		})
	}
	for _, part := range []struct {
		path  []string
		items []any
	}{{jobsPath(), jobs}, {statusPath(), standing}} {
		if len(part.items) == 0 {
			continue
		}
		if err := unstructured.SetNestedSlice(kept.Object, part.items, part.path...); err != nil {
			return fmt.Errorf("trim JobSet %s/%s: %w", jobSet.GetNamespace(), jobSet.GetName(), err)
		}
	}
	return nil
}
