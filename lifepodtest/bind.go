package lifepodtest

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/retry"
)

// binder gives each pod the node with the fewest pods.
type binder struct {
	client kubernetes.Interface
	on     []int             // pods of each node
	of     map[types.UID]int // the node of each pod
}

// bind binds pods that are on no node, until ctx ends.
func bind(ctx context.Context, client kubernetes.Interface, nodes int) {
	b := &binder{client: client, on: make([]int, nodes), of: map[types.UID]int{}}
	factory := informers.NewSharedInformerFactory(client, 0)
	informer := factory.Core().V1().Pods().Informer()
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{ // one goroutine calls them
		AddFunc:    func(object any) { b.see(ctx, object.(*v1.Pod)) },
		UpdateFunc: func(_, object any) { b.see(ctx, object.(*v1.Pod)) },
		DeleteFunc: func(object any) {
			if missed, is := object.(cache.DeletedFinalStateUnknown); is {
				object = missed.Obj
			}
			if pod, is := object.(*v1.Pod); is {
				b.forget(pod.UID)
			}
		},
	})
	if err != nil {
		panic(fmt.Sprintf("lifepodtest: %v", err)) // the informer has not been stopped
	}
	factory.Start(ctx.Done())
	<-ctx.Done()
	factory.Shutdown()
}

func (b *binder) see(ctx context.Context, pod *v1.Pod) {
	if _, known := b.of[pod.UID]; known || !isUnbound(pod) {
		return
	}
	best := 0
	for i, n := range b.on {
		if n < b.on[best] {
			best = i
		}
	}
	binding := &v1.Binding{
		ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID},
		Target:     v1.ObjectReference{Kind: "Node", Name: fmt.Sprintf("%s%d", prefix, best)},
	}
	err := retry.OnError(retry.DefaultBackoff, func(err error) bool { return !isOver(err) && ctx.Err() == nil }, func() error {
		return b.client.CoreV1().Pods(pod.Namespace).Bind(ctx, binding, metav1.CreateOptions{})
	})
	if err != nil {
		return // it is gone, or somebody else has bound it; else its next change is another try
	}
	b.of[pod.UID] = best
	b.on[best]++
}

// isUnbound says that a pod is to be bound to a node.
func isUnbound(pod *v1.Pod) bool {
	return pod.Spec.NodeName == "" && pod.DeletionTimestamp == nil && len(pod.Spec.SchedulingGates) == 0
}

// isOver says that there is nothing to bind any more.
func isOver(err error) bool { return apierrors.IsNotFound(err) || apierrors.IsConflict(err) }

func (b *binder) forget(uid types.UID) {
	if i, known := b.of[uid]; known {
		b.on[i]--
		delete(b.of, uid)
	}
}
