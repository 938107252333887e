package main

import (
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/lifepod/lifepod/journal"
	"github.com/lifepod/lifepod/journal/remote"
	"github.com/lifepod/lifepod/why"
)

// objectsOf are what the cluster of a source has beside pods, with these labels; nothing if it is of no cluster.
func objectsOf(source journal.Source, selector labels.Selector) (*why.Objects, error) {
	switch s := source.(type) {
	case journal.Several:
		for _, one := range s {
			if own, is := one.(ownCluster); is {
				o, _ := listObjects(own.Cluster, selector) // its Pods have warned
				return o, nil
			}
		}
	case *remote.Cluster:
		return listObjects(s, selector)
	}
	return &why.Objects{}, nil
}

func listObjects(c *remote.Cluster, selector labels.Selector) (*why.Objects, error) {
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
