package remote

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"

	"github.com/lifepod/lifepod/journal"
	"github.com/lifepod/lifepod/why"
)

// Cluster is what is known of the pods that a cluster has, with the rights of whoever asks: get
// and list pods, get nodes/proxy. It is what a pod's node has in its journal, or what the
// pod's object says if it has no node, if the node's journal has nothing of it, or if the node
// does not answer. It is for one goroutine.
type Cluster struct {
	Context   context.Context // of all requests
	Client    kubernetes.Interface
	Namespace string // empty: all

	objects map[string]*v1.Pod // by UID, as listed last
}

// Pods lists the pods that there are.
func (c *Cluster) Pods() ([]journal.Pod, error) {
	list, err := c.Client.CoreV1().Pods(c.Namespace).List(c.Context, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	c.objects = map[string]*v1.Pod{}
	pods := make([]journal.Pod, 0, len(list.Items))
	for i := range list.Items {
		one := journal.PodOf(&list.Items[i])
		if mirrored := list.Items[i].Annotations[v1.MirrorPodAnnotationKey]; mirrored != "" {
			one.UID = mirrored // the node knows the static pod itself
		}
		c.objects[one.UID] = &list.Items[i]
		pods = append(pods, one)
	}
	return pods, nil
}

// Object is one of the pods that Pods has listed; nil: there is none.
func (c *Cluster) Object(uid string) *v1.Pod { return c.objects[uid] }

// Objects are what the cluster has beside pods, those with these labels.
func (c *Cluster) Objects(selector labels.Selector) (*why.Objects, error) {
	labeled := metav1.ListOptions{LabelSelector: selector.String()}
	replicaSets, e1 := c.Client.AppsV1().ReplicaSets(c.Namespace).List(c.Context, labeled)
	statefulSets, e2 := c.Client.AppsV1().StatefulSets(c.Namespace).List(c.Context, labeled)
	daemonSets, e3 := c.Client.AppsV1().DaemonSets(c.Namespace).List(c.Context, labeled)
	jobs, e4 := c.Client.BatchV1().Jobs(c.Namespace).List(c.Context, labeled)
	claims, e5 := c.Client.CoreV1().PersistentVolumeClaims(c.Namespace).List(c.Context, labeled)
	services, e6 := c.Client.CoreV1().Services(c.Namespace).List(c.Context, labeled)
	endpoints, e7 := c.Client.DiscoveryV1().EndpointSlices(c.Namespace).List(c.Context, metav1.ListOptions{})
	events, e8 := c.Client.CoreV1().Events(c.Namespace).List(c.Context, metav1.ListOptions{FieldSelector: "involvedObject.kind!=Pod"})
	if err := errors.Join(e1, e2, e3, e4, e5, e6, e7, e8); err != nil {
		return &why.Objects{}, err
	}
	return &why.Objects{
		ReplicaSets: replicaSets.Items, StatefulSets: statefulSets.Items, DaemonSets: daemonSets.Items, Jobs: jobs.Items,
		Claims: claims.Items, Services: services.Items, Slices: endpoints.Items, Events: events.Items,
	}, nil
}

// Read returns what is known of one of the pods that Pods has listed.
func (c *Cluster) Read(uid string) (*journal.Record, error) {
	pod := c.objects[uid]
	if pod == nil {
		return nil, fmt.Errorf("pod %s: %w", uid, fs.ErrNotExist)
	}
	if pod.Spec.NodeName == "" {
		return journal.OfObject(pod, nil), nil
	}
	record, err := Node{Context: c.Context, Client: c.Client.CoreV1().RESTClient(), Name: pod.Spec.NodeName}.Read(uid)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return journal.OfObject(pod, nil), nil
	case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err), c.Context.Err() != nil:
		return nil, err
	case err != nil:
		return journal.OfObject(pod, err), nil
	}
	return record, nil
}
