package register

import (
	"context"
	"log/slog"
	"sync"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/lifepod/lifepod/internal/apiwatch"
)

// Shared follows the Nodes of many that run in one process, by one list and watch of all Nodes.
// Its nodes may come while it runs.
type Shared struct {
	Client kubernetes.Interface
	Log    *slog.Logger

	mu    sync.Mutex
	nodes map[string]*follower // those that have come
	away  map[string]*follower // those that are cut off
	lists int                  // how many there were: each but the first ends an outage
}

// Run follows them until ctx ends.
func (s *Shared) Run(ctx context.Context) {
	quiet := klog.Logger{}
	reflector := cache.NewReflectorWithOptions(
		apiwatch.Lister(s.Client, s.Client.CoreV1().Nodes(), nil, nil), &v1.Node{}, s.store(), cache.ReflectorOptions{Logger: &quiet, Name: "nodes"},
	)
	ctx = klog.NewContext(ctx, quiet)
	listing := backoff{log: s.Log, what: "listing and watching nodes"}
	for ctx.Err() == nil {
		if err := reflector.ListAndWatchWithContext(ctx); err != nil && ctx.Err() == nil {
			sleep(ctx, listing.failed(err))
			continue
		}
		listing.succeeded()
	}
}

func (s *Shared) add(f *follower) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.nodes == nil {
		s.nodes = map[string]*follower{}
	}
	s.nodes[f.name] = f
}

func (s *Shared) remove(f *follower) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.nodes, f.name)
	delete(s.away, f.name)
}

// Cut tells a node nothing more of its Node until Join, as if the API server were away.
func (s *Shared) Cut(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.nodes[name]
	if f == nil {
		return
	}
	if s.away == nil {
		s.away = map[string]*follower{}
	}
	s.away[name] = f
	delete(s.nodes, name)
}

// Join tells a node how its Node is now, and that the outage is over. It asks the API server until that answers, or ctx ends.
func (s *Shared) Join(ctx context.Context, name string) {
	s.mu.Lock()
	f := s.away[name]
	if f != nil {
		delete(s.away, name)
		s.nodes[name] = f
	}
	s.mu.Unlock()
	if f == nil {
		return
	}
	asking := backoff{log: f.log, what: "asking the API server for the node"}
	for err := f.ask(ctx); err != nil; err = f.ask(ctx) {
		if !sleep(ctx, asking.failed(err)) {
			return
		}
	}
	asking.succeeded()
	f.back()
}

// ask publishes the Node as it is now, unless a newer one is known.
func (f follower) ask(ctx context.Context) error {
	ctx, done := context.WithTimeout(ctx, listTimeout)
	defer done()
	node, err := f.client.CoreV1().Nodes().Get(ctx, f.name, metav1.GetOptions{})
	switch {
	case err == nil:
		f.heard(node, false)
	case apierrors.IsNotFound(err):
		f.gone()
	default:
		return err
	}
	return nil
}

// back tells that an outage is over.
func (f follower) back() {
	f.calls.note(func(a *asked) { a.back = true })
	f.link.over.give()
}

// of is the follower of a Node; nil: it is none of them.
func (s *Shared) of(node *v1.Node) *follower {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.nodes[node.Name]
}

func (s *Shared) store() apiwatch.Store[*v1.Node] {
	return apiwatch.Store[*v1.Node]{
		All: s.replace,
		Put: func(node *v1.Node) {
			if f := s.of(node); f != nil {
				f.heard(node, false)
			}
		},
		Gone: func(node *v1.Node) {
			if f := s.of(node); f != nil {
				f.gone()
			}
		},
	}
}

// replace takes all Nodes. The followers of those that are gone are told, and of an outage's end.
func (s *Shared) replace(nodes []*v1.Node, version string) {
	there := map[string]*v1.Node{}
	for _, node := range nodes {
		there[node.Name] = node
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lists++
	for name, f := range s.nodes {
		if node := there[name]; node != nil {
			f.heard(node, true)
		} else if known := f.object.newest.Load(); known != nil && !newer(known, version) {
			f.gone()
		}
		if s.lists > 1 {
			f.back()
		}
	}
}

// newer says whether a Node is one of after a list, which then says nothing of it.
func newer(node *v1.Node, list string) bool {
	order, err := resourceversion.CompareResourceVersion(node.ResourceVersion, list)
	return err == nil && order > 0
}
