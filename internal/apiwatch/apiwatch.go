// Package apiwatch has the two ends of a reflector of client-go, for objects of one type: what it reads, and who hears of it.
package apiwatch

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// Client reads objects of one type: a typed client of client-go.
type Client[L runtime.Object] interface {
	List(ctx context.Context, options metav1.ListOptions) (L, error)
	Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error)
}

// Lister reads with a client of a clientset. Choose says which objects are read; nil: all. Told hears what has come of each
// request; nil: nobody does.
func Lister[L runtime.Object](clientset any, client Client[L], choose func(*metav1.ListOptions), reported func(context.Context, error)) cache.ListerWatcher {
	if choose == nil {
		choose = func(*metav1.ListOptions) {}
	}
	if reported == nil {
		reported = func(context.Context, error) {}
	}
	return cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			choose(&options)
			list, err := client.List(ctx, options)
			reported(ctx, err)
			return list, err
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			choose(&options)
			events, err := client.Watch(ctx, options)
			reported(ctx, err)
			return events, err
		},
	}, clientset)
}

// Store is a reflector's, which calls it from one goroutine. It keeps nothing: it hands on what there is, without managedFields.
type Store[T metav1.Object] struct {
	All  func(list []T, version string) // there are these, and no others
	Put  func(object T)                 // it is new, or another version
	Gone func(object T)
}

// Add hands on a new object.
func (s Store[T]) Add(object any) error { return hand(object, s.Put) }

// Update hands on another version of an object.
func (s Store[T]) Update(object any) error { return hand(object, s.Put) }

// Delete hands on that an object is gone.
func (s Store[T]) Delete(object any) error { return hand(object, s.Gone) }

// Replace hands on all objects.
func (s Store[T]) Replace(objects []any, version string) error {
	list := make([]T, 0, len(objects))
	for _, object := range objects {
		if err := hand(object, func(o T) { list = append(list, o) }); err != nil {
			return err
		}
	}
	s.All(list, version)
	return nil
}

// Resync does nothing: nobody wants to hear of what hasn't changed.
func (Store[T]) Resync() error { return nil }

// Transformer drops managedFields while a list of objects is gathered.
func (Store[T]) Transformer() cache.TransformFunc {
	return func(object any) (any, error) { return object, hand(object, func(T) {}) }
}

func hand[T metav1.Object](object any, to func(T)) error {
	typed, is := object.(T)
	if !is {
		return fmt.Errorf("watched object: got %T, want %T", object, typed)
	}
	typed.SetManagedFields(nil)
	to(typed)
	return nil
}
