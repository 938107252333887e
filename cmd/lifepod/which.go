package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/lifepod/lifepod/control/client"
	"github.com/lifepod/lifepod/unattended"
)

// which are the flags that say which pods a command lists.
type which struct {
	namespace, labels string
	all               bool
}

func (w *which) add(command *cobra.Command) {
	flags := command.Flags()
	flags.StringVarP(&w.namespace, "namespace", "n", "", "only the pods of this `namespace`")
	flags.BoolVarP(&w.all, "all-namespaces", "A", false, "the pods of all namespaces, as without -n")
	flags.StringVarP(&w.labels, "selector", "l", "", "only pods with these `labels`, such as app=web")
}

// shownPods are the pods to show; left are those of them that are unattended.
type shownPods struct {
	pods []*v1.Pod
	left []unattended.Pod
}

// of are those of some pods that are wanted, by name.
func (w *which) of(attended []*client.Pod, left []unattended.Pod) (all shownPods, err error) {
	selector, err := labels.Parse(w.labels)
	switch {
	case err != nil:
		return all, fmt.Errorf("-l %q: %w", w.labels, err)
	case w.all && w.namespace != "":
		return all, errors.New("--namespace and --all-namespaces exclude each other")
	}
	wanted := func(p *v1.Pod) bool {
		return (w.namespace == "" || p.Namespace == w.namespace) && selector.Matches(labels.Set(p.Labels))
	}
	for _, p := range attended {
		if wanted(p.Pod) {
			all.pods = append(all.pods, p.Pod)
		}
	}
	for _, p := range left {
		if wanted(p.Pod) {
			all.pods, all.left = append(all.pods, p.Pod), append(all.left, p)
		}
	}
	slices.SortStableFunc(all.pods, func(a, b *v1.Pod) int {
		return cmp.Compare(a.Namespace+"/"+a.Name, b.Namespace+"/"+b.Name)
	})
	return all, nil
}
