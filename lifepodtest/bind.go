package lifepodtest

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
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
	if _, known := b.of[pod.UID]; known || pod.Spec.NodeName != "" || pod.DeletionTimestamp != nil || len(pod.Spec.SchedulingGates) > 0 {
		return
	}
	best := 0
	for i, n := range b.on {
		if n < b.on[best] {
			best = i
		}
	}
	err := b.client.CoreV1().Pods(pod.Namespace).Bind(ctx, &v1.Binding{
		ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID},
		Target:     v1.ObjectReference{Kind: "Node", Name: fmt.Sprintf("%s%d", prefix, best)},
	}, metav1.CreateOptions{})
	if err != nil {
		return // it is gone, or somebody else has bound it
	}
	b.of[pod.UID] = best
	b.on[best]++
}

func (b *binder) forget(uid types.UID) {
	if i, known := b.of[uid]; known {
		b.on[i]--
		delete(b.of, uid)
	}
}
