package remote

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/lifepod/lifepod/journal"
)

// Cluster reads what the nodes of a cluster have in their journals of pods that there are,
// with the rights of whoever asks: get and list pods, get nodes/proxy.
type Cluster struct{ Client kubernetes.Interface }

// nodesAtOnce is how many requests to nodes are under way at a time.
const nodesAtOnce = 16

// Pod returns what is known of a pod: its node's journal, or what its object says where that
// has none.
func (c Cluster) Pod(ctx context.Context, namespace, name string) (*journal.Record, error) {
	pod, err := c.Client.CoreV1().Pods(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	return c.record(ctx, pod)
}

// Pods returns what is known of the pods of a namespace, or of all if that is empty, that a
// label selector chooses. With an error, which says what nodes did not answer, it returns
// what the objects say of their pods.
func (c Cluster) Pods(ctx context.Context, namespace, selector string) ([]*journal.Record, error) {
	list, err := c.Client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		return nil, err
	}
	records, problems := make([]*journal.Record, len(list.Items)), make([]error, len(list.Items))
	var group sync.WaitGroup
	free := make(chan struct{}, nodesAtOnce)
	for i := range list.Items {
		free <- struct{}{}
		group.Go(func() {
			defer func() { <-free }()
			records[i], problems[i] = c.record(ctx, &list.Items[i])
			if problems[i] != nil {
				records[i] = journal.OfObject(time.Now(), &list.Items[i])
			}
		})
	}
	group.Wait()
	return records, once(problems)
}

// once joins the errors, of equal ones the first: many pods may have the same node.
func once(all []error) error {
	var texts []string
	return errors.Join(slices.DeleteFunc(all, func(err error) bool {
		if err == nil || slices.Contains(texts, err.Error()) {
			return true
		}
		texts = append(texts, err.Error())
		return false
	})...)
}

func (c Cluster) record(ctx context.Context, pod *v1.Pod) (*journal.Record, error) {
	object := journal.OfObject(time.Now(), pod)
	if pod.Spec.NodeName == "" {
		return object, nil
	}
	uid := string(pod.UID)
	if mirrored := pod.Annotations[v1.MirrorPodAnnotationKey]; mirrored != "" {
		uid = mirrored // the node knows the static pod itself
	}
	record, err := Node{Context: ctx, Client: c.Client.CoreV1().RESTClient(), Name: pod.Spec.NodeName}.Read(uid)
	if errors.Is(err, fs.ErrNotExist) {
		return object, nil
	}
	return record, err
}
