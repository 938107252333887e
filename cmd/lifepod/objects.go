package main

import (
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
				o, _ := own.Objects(selector) // its Pods have warned
				return o, nil
			}
		}
	case *remote.Cluster:
		return s.Objects(selector)
	}
	return &why.Objects{}, nil
}
