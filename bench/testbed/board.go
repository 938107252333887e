package testbed

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// Patience is how long anything may take before the measurement is given up.
const Patience = 10 * time.Minute

// Board has the objects of a namespace as a watch has shown them, by name.
type Board[T metav1.Object] struct {
	mu      sync.Mutex
	objects map[string]T
	asks    map[*ask[T]]bool
	broken  error // why there is no news any more
}

// ask is somebody who waits for the objects to be as wanted.
type ask[T metav1.Object] struct {
	wanted func(map[string]T) bool
	seen   chan time.Time // has one place
}

// NewBoard makes one without objects; Run fills it.
func NewBoard[T metav1.Object]() *Board[T] {
	return &Board[T]{objects: map[string]T{}, asks: map[*ask[T]]bool{}}
}

type Opener func(context.Context, metav1.ListOptions) (watch.Interface, error)

// Run takes the news until ctx ends. A watch that the API server ends, as it does
// with one that can't follow, resumes where it was.
func (b *Board[T]) Run(ctx context.Context, open Opener) {
	var options metav1.ListOptions
	for ctx.Err() == nil {
		news, err := open(ctx, options)
		if err == nil {
			err = b.follow(news, &options)
		}
		if err != nil {
			b.end(err)
			return
		}
	}
}

// follow takes the news of one watch and notes how far it came.
func (b *Board[T]) follow(news watch.Interface, came *metav1.ListOptions) error {
	defer news.Stop()
	for event := range news.ResultChan() {
		object, ok := event.Object.(T)
		if !ok {
			return fmt.Errorf("the watch has ended: %w", apierrors.FromObject(event.Object))
		}
		came.ResourceVersion = object.GetResourceVersion()
		b.note(time.Now(), event.Type, object)
	}
	return nil
}

func (b *Board[T]) end(why error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.broken = why
	for a := range b.asks {
		close(a.seen)
	}
	clear(b.asks)
}

func (b *Board[T]) note(at time.Time, kind watch.EventType, object T) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if kind == watch.Deleted {
		delete(b.objects, object.GetName())
	} else {
		b.objects[object.GetName()] = object
	}
	for a := range b.asks {
		if a.wanted(b.objects) {
			a.seen <- at
			delete(b.asks, a)
		}
	}
}

// Await waits until the objects are as wanted and says when that was seen. wanted
// must be quick; what is for the error.
func (b *Board[T]) Await(ctx context.Context, what string, wanted func(map[string]T) bool) (time.Time, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, Patience, fmt.Errorf("not within %v", Patience))
	defer cancel()
	a := &ask[T]{wanted: wanted, seen: make(chan time.Time, 1)}
	if now, err := b.add(a); err != nil || now {
		return time.Now(), err
	}
	select {
	case at, ok := <-a.seen:
		if ok {
			return at, nil
		}
		return time.Time{}, errors.Join(fmt.Errorf("wait for %s", what), b.broken)
	case <-ctx.Done():
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.asks, a)
		return time.Time{}, fmt.Errorf("wait for %s: %w", what, context.Cause(ctx))
	}
}

// add looks once, and notes who waits if it isn't so yet.
func (b *Board[T]) add(a *ask[T]) (already bool, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.broken != nil {
		return false, b.broken
	}
	if a.wanted(b.objects) {
		return true, nil
	}
	b.asks[a] = true
	return false, nil
}

// Now is an object as it was seen last.
func (b *Board[T]) Now(name string) T {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.objects[name]
}
