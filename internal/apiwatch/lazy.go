package apiwatch

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"
)

// Lazy are the objects of one type that a cluster has, without namespaces. They are watched from the moment somebody wants one:
// most nodes never see any.
type Lazy[T metav1.Object] struct {
	store    cache.Store
	informer cache.Controller
	wanted   chan struct{} // closed by Want
	once     sync.Once
}

// LazyOptions say what Lazy reads. What is its name in the log; Trim leaves out what nobody reads, and Changed is called after
// each change; both may be nil.
type LazyOptions[T metav1.Object] struct {
	What    string
	From    func(reported func(context.Context, error)) cache.ListerWatcher // Lister, of all objects
	Example runtime.Object
	Trim    func(T) T
	Changed func()
	Log     *slog.Logger
}

// syncWait is how long Get waits for the first reading.
const syncWait = 5 * time.Second

var errUnreached = errors.New("the API server was not reached yet")

// NewLazy makes those that Run watches.
func NewLazy[T metav1.Object](o LazyOptions[T]) *Lazy[T] {
	var logged sync.Once
	options := cache.InformerOptions{ObjectType: o.Example, Handler: cache.ResourceEventHandlerFuncs{}}
	options.ListerWatcher = o.From(func(ctx context.Context, err error) {
		if err != nil && ctx.Err() == nil {
			logged.Do(func() { o.Log.WarnContext(ctx, o.What+" are not watched; tried again until they are", "err", err) })
		}
	})
	if o.Trim != nil {
		options.Transform = func(object any) (any, error) {
			if typed, is := object.(T); is {
				return o.Trim(typed), nil
			}
			return object, nil
		}
	}
	if o.Changed != nil {
		options.Handler = cache.ResourceEventHandlerFuncs{
			AddFunc: func(any) { o.Changed() }, UpdateFunc: func(any, any) { o.Changed() }, DeleteFunc: func(any) { o.Changed() },
		}
	}
	l := &Lazy[T]{wanted: make(chan struct{})}
	l.store, l.informer = cache.NewInformerWithOptions(options)
	return l
}

// Run waits until they are wanted and then watches them, until ctx ends; call it once.
func (l *Lazy[T]) Run(ctx context.Context) {
	select {
	case <-l.wanted:
		l.informer.RunWithContext(ctx)
	case <-ctx.Done():
	}
}

// Want has them watched.
func (l *Lazy[T]) Want() { l.once.Do(func() { close(l.wanted) }) }

// Known is the object of a name as far as is known by now, or else the zero value. It must not be changed.
func (l *Lazy[T]) Known(name string) T {
	object, _, _ := l.store.GetByKey(name) // a store without indexes has no errors
	known, _ := object.(T)
	return known
}

// Get is Known after the first reading, for which it waits a moment.
func (l *Lazy[T]) Get(ctx context.Context, name string) (known T, err error) {
	l.Want()
	ctx, cancel := context.WithTimeoutCause(ctx, syncWait, errUnreached)
	defer cancel()
	select {
	case <-l.informer.HasSyncedChecker().Done():
		return l.Known(name), nil
	case <-ctx.Done():
		return known, context.Cause(ctx)
	}
}
