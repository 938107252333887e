package ui

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/lifepod/lifepod/internal/plain"
	"github.com/lifepod/lifepod/internal/sentence"
	"github.com/lifepod/lifepod/journal"
	"github.com/lifepod/lifepod/journal/remote"
	"github.com/lifepod/lifepod/why"
)

// Cluster is a cluster's API server, asked with the rights of a kubeconfig.
type Cluster struct {
	Server string // its URL
	client kubernetes.Interface
	tables rest.Interface

	mu   sync.Mutex
	last clusterState
}

// clusterState is what a cluster has beside the pods of this machine.
type clusterState struct {
	next    time.Time // when to look again
	listed  *remote.Cluster
	records []*journal.Record
	objects *why.Objects
	err     error
}

const (
	// timeout is for an API server to answer.
	timeout = 10 * time.Second
	// clusterEvery is the least time between two looks at a cluster.
	clusterEvery = 4 * time.Second
)

// OpenCluster reads a kubeconfig; the API server need not answer yet.
func OpenCluster(kubeconfig string) (*Cluster, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("kubeconfig %s: %w", kubeconfig, err)
	}
	return clusterOf(config)
}

func clusterOf(config *rest.Config) (*Cluster, error) {
	config.Timeout, config.WarningHandler = timeout, rest.NoWarnings{}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("reach the cluster: %w", err)
	}
	return &Cluster{Server: config.Host, client: client, tables: client.CoreV1().RESTClient()}, nil
}

// look is what the cluster has, as of a few seconds ago at most; mine says which pods this machine knows itself.
func (c *Cluster) look(ctx context.Context, mine func(uid string) bool, now time.Time) clusterState {
	if last := c.state(); last.next.After(now) {
		return last
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	s := clusterState{listed: &remote.Cluster{Context: ctx, Client: c.client}, objects: &why.Objects{}}
	pods, err := s.listed.Pods()
	for _, p := range pods {
		if mine(p.UID) {
			continue
		}
		record := journal.OfObject(s.listed.Object(p.UID), nil)
		if !why.Explain(record, now, sentence.English).Well { // its node knows more
			if more, err := s.listed.Read(p.UID); err == nil {
				record = more
			}
		}
		s.records = append(s.records, record)
	}
	if s.err = err; err == nil {
		s.objects, s.err = s.listed.Objects(labels.Everything())
	}
	if errors.Is(ctx.Err(), context.Canceled) {
		return s // nobody looks any more; who comes next asks anew
	}
	s.next = now.Add(max(clusterEvery, lookShare*time.Since(now)))
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = s
	return s
}

func (c *Cluster) state() clusterState {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.last
}

// listed are the cluster's pods, to be asked with a context.
func (c *Cluster) listed(ctx context.Context) (*remote.Cluster, error) {
	last := c.state().listed
	if last == nil {
		last = &remote.Cluster{Context: ctx, Client: c.client}
		_, err := last.Pods()
		return last, err
	}
	again := *last
	again.Context = ctx
	return &again, nil
}

// pods is the pod of a UID, as a client asks for those elsewhere.
func (c *Cluster) pods(ctx context.Context, uid string) ([]v1.Pod, error) {
	listed, err := c.listed(ctx)
	if err != nil || listed.Object(uid) == nil {
		return nil, err
	}
	return []v1.Pod{*listed.Object(uid)}, nil
}

// record is what is known of a pod that this machine has not had.
func (c *Cluster) record(ctx context.Context, uid string) (*journal.Record, error) {
	listed, err := c.listed(ctx)
	if err != nil {
		return nil, err
	}
	return listed.Read(uid)
}

// events are those of a pod, the newest last.
func (c *Cluster) events(ctx context.Context, pod *v1.Pod) []v1.Event {
	of := metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("involvedObject.uid", string(pod.UID)).String()}
	list, err := c.client.CoreV1().Events(pod.Namespace).List(ctx, of)
	if err != nil {
		return nil // without them the rest is shown
	}
	for i := range list.Items {
		if e := &list.Items[i]; e.LastTimestamp.IsZero() {
			e.LastTimestamp.Time = e.EventTime.Time
		}
	}
	slices.SortStableFunc(list.Items, func(a, b v1.Event) int { return a.LastTimestamp.Compare(b.LastTimestamp.Time) })
	return list.Items
}

// partOf names what a pod belongs to, and what it uses, each as "Deployment shop/web".
func partOf(pod *journal.Pod, volumes []v1.Volume, o *why.Objects) (names []string) {
	add := func(kind, name string) { names = append(names, plain.Line(kind+" "+pod.Namespace+"/"+name)) }
	if kind, name, owned := strings.Cut(pod.Owner, "/"); owned {
		add(kind, name)
		for i := range o.ReplicaSets {
			if set := &o.ReplicaSets[i]; kind == "ReplicaSet" && set.Namespace == pod.Namespace && set.Name == name {
				if owner := metav1.GetControllerOf(set); owner != nil {
					add(owner.Kind, owner.Name)
				}
			}
		}
	}
	for i := range o.Services {
		s := &o.Services[i]
		if s.Namespace == pod.Namespace && len(s.Spec.Selector) > 0 && labels.SelectorFromSet(s.Spec.Selector).Matches(labels.Set(pod.Labels)) {
			add("Service", s.Name)
		}
	}
	for _, v := range volumes {
		switch {
		case v.PersistentVolumeClaim != nil:
			add("PersistentVolumeClaim", v.PersistentVolumeClaim.ClaimName)
		case v.Ephemeral != nil:
			add("PersistentVolumeClaim", pod.Name+"-"+v.Name)
		}
	}
	if pod.Node != "" {
		names = append(names, plain.Line("Node "+pod.Node))
	}
	return names
}
