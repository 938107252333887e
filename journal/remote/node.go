package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/lifepod/lifepod/journal"
	"github.com/lifepod/lifepod/why"
)

// Node reads the journal of a node of a cluster through the API server, with the rights of
// whoever asks: get on nodes/proxy.
type Node struct {
	Context context.Context // of all requests
	Client  rest.Interface  // of the core API, version v1
	Name    string
}

// Pods lists the pods that the node's journal has.
func (n Node) Pods() (pods []journal.Pod, err error) {
	err = n.get("", &pods)
	return pods, err
}

// Read returns what the journal has of a pod.
func (n Node) Read(uid string) (*journal.Record, error) {
	r := &journal.Record{}
	if err := n.get(uid, r); err != nil {
		return nil, err
	}
	return r, nil
}

func (n Node) get(uid string, into any) error {
	result := n.Client.Get().Resource("nodes").Name(n.Name).SubResource("proxy").Suffix(Path, uid).Do(n.Context)
	content, _ := result.Raw()
	switch err := result.Error(); {
	case apierrors.IsNotFound(err) && apierrors.IsUnexpectedServerError(err): // it is the node's, not the API server's
		return fmt.Errorf("node %s has no journal of it; is it run by lifepod agent? %w", n.Name, fs.ErrNotExist)
	case err != nil:
		return fmt.Errorf("journal of node %s: %w", n.Name, err)
	}
	if err := json.Unmarshal(content, into); err != nil {
		return fmt.Errorf("journal of node %s: %w", n.Name, err)
	}
	return nil
}

// Path is where a journal is served.
const Path = "/journal"

// Handler serves a journal at Path and below.
func Handler(from journal.Source) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+Path, func(w http.ResponseWriter, _ *http.Request) {
		pods, err := from.Pods()
		if len(pods) > 0 {
			err = nil // those that can be read are reported
		}
		answer(w, pods, err)
	})
	mux.HandleFunc("GET "+Path+"/{uid}", func(w http.ResponseWriter, r *http.Request) {
		record, err := from.Read(r.PathValue("uid"))
		answer(w, record, err)
	})
	return mux
}

func answer(w http.ResponseWriter, value any, err error) {
	var content []byte
	if err == nil {
		content, err = json.Marshal(value)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		http.Error(w, "the journal has no such pod", http.StatusNotFound)
	case err != nil:
		http.Error(w, err.Error(), http.StatusInternalServerError)
	default:
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(content) // a client that has gone needs no answer
	}
}

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
