package objects

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/lifepod/lifepod/internal/apiwatch"
	"github.com/lifepod/lifepod/worker/images"
)

// objectWatch follows one object in the API server.
type objectWatch struct {
	// immutable
	watches *watches
	entry   *entry
	began   time.Time
	ctx     context.Context
	cancel  context.CancelFunc
	heard   chan struct{} // closed when synced

	// guarded by watches.mu
	synced bool  // the API server has said what is there
	err    error // the last failure before
}

// begin starts the watch of an object; its one goroutine ends with cancel.
func (w *watches) begin(e *entry) {
	ctx, cancel := context.WithCancel(w.ctx)
	e.watch = &objectWatch{watches: w, entry: e, began: time.Now(), ctx: ctx, cancel: cancel, heard: make(chan struct{})}
	go e.watch.run()
}

func (w *objectWatch) run() {
	ctx := klog.NewContext(w.ctx, logr.Discard())                                          // failures are told to those who ask
	selector := fields.OneTermEqualSelector(metav1.ObjectNameField, w.entry.name).String() // the one object is all that a node may read
	from := w.entry.kind.lister(w.watches.options.Client, w.entry.namespace, func(o *metav1.ListOptions) { o.FieldSelector = selector }, w.note)
	newReflector(from, w.entry.kind.empty, apiwatch.Store[object]{
		All: func(list []object, _ string) {
			var found object
			for _, o := range list {
				if o.GetName() == w.entry.name {
					found = o
				}
			}
			w.watches.set(w, found)
		},
		Put: func(o object) {
			if o.GetName() == w.entry.name {
				w.watches.set(w, o)
			}
		},
		Gone: func(o object) {
			if o.GetName() == w.entry.name {
				w.watches.set(w, nil)
			}
		},
	}).RunWithContext(ctx)
}

// newReflector is a reflector, to be run with a context that has it log nothing. Its first retries come soon: the
// Node authorizer may hear of a new pod a moment later than the node does.
func newReflector(from cache.ListerWatcher, example runtime.Object, to cache.ReflectorStore) *cache.Reflector {
	return cache.NewReflectorWithOptions(from, example, to, cache.ReflectorOptions{
		Name: "objects", Logger: new(logr.Discard()), MinWatchTimeout: 30 * time.Minute,
		Backoff: &wait.Backoff{Duration: 10 * time.Millisecond, Factor: 2, Jitter: 1, Steps: 20, Cap: 10 * time.Second},
	})
}

func (w *objectWatch) note(_ context.Context, err error) {
	if err == nil {
		return
	}
	w.watches.failed(w, err)
	w.watches.options.Log.Debug("watch of object failed", "kind", w.entry.kind.name, "namespace", w.entry.namespace, "name", w.entry.name, "err", err)
}

// await returns when the first answer is there, or took too long.
func (w *objectWatch) await() {
	late := time.NewTimer(time.Until(w.began.Add(firstAnswerWithin)))
	defer late.Stop()
	select {
	case <-w.heard:
	case <-late.C:
	case <-w.ctx.Done():
	}
}

// heardFirst needs watches.mu held.
func (w *objectWatch) heardFirst() {
	if !w.synced {
		w.synced = true
		close(w.heard)
	}
}

// cacheKey is what credentials are good for: an image, a registry or all, and
// an identity.
type cacheKey struct {
	scope    string // "" for all
	identity string
}

type cacheEntry struct {
	logins []images.Login
	until  time.Time
}

// credentialCache keeps credentials as long as their plugin says. Those that nobody asks
// for again go with the next that come.
type credentialCache struct {
	mu      sync.Mutex
	entries map[cacheKey]cacheEntry
}

func (c *credentialCache) find(keys ...cacheKey) ([]images.Login, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, key := range keys {
		if entry, found := c.entries[key]; found && time.Now().Before(entry.until) {
			return entry.logins, true
		}
	}
	return nil, false
}

func (c *credentialCache) keep(key cacheKey, logins []images.Login, good time.Duration) {
	if good <= 0 {
		return
	}
	now := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.entries == nil {
		c.entries = map[cacheKey]cacheEntry{}
	}
	maps.DeleteFunc(c.entries, func(_ cacheKey, e cacheEntry) bool { return !now.Before(e.until) })
	c.entries[key] = cacheEntry{logins: logins, until: now.Add(good)}
}
