package timeline

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/lifepod/lifepod/internal/plain"
	"github.com/lifepod/lifepod/journal"
)

// Wanted is which pods a user means.
type Wanted struct {
	Names     []string // name, namespace/name or UID
	Namespace string   // where that is not enough; empty: all
	Labels    string   // a selector of labels; empty: those that are named
}

// From finds them. Of pods that had the same name one after the other it is the newest, unless the
// UID says which. An error names the nearest, if there is no such pod.
func (w Wanted) From(source journal.Source) ([]journal.Pod, error) {
	pods, err := source.Pods()
	if err != nil && len(pods) == 0 {
		return nil, err
	}
	if len(pods) == 0 {
		return nil, errors.New("the journal has no pod yet: lifepod run and lifepod agent write it")
	}
	if w.Labels != "" {
		return w.selected(source, pods)
	}
	var list []journal.Pod
	for _, name := range w.Names {
		pod, err := w.named(source, pods, name)
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(list, func(p journal.Pod) bool { return p.UID == pod.UID }) {
			list = append(list, pod)
		}
	}
	return list, nil
}

// selected are the pods with labels.
func (w Wanted) selected(source journal.Source, pods []journal.Pod) ([]journal.Pod, error) {
	selector, err := labels.Parse(w.Labels)
	if err != nil {
		return nil, fmt.Errorf("-l %q: %w", w.Labels, err)
	}
	var list []journal.Pod
	for _, p := range pods {
		if (w.Namespace == "" || p.Namespace == w.Namespace) && selector.Matches(labels.Set(p.Labels)) {
			list = append(list, p)
		}
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("no pod in the journal has the labels %s", plain.Line(w.Labels))
	}
	return newest(source, list), nil
}

func (w Wanted) named(source journal.Source, pods []journal.Pod, name string) (journal.Pod, error) {
	namespace, short := w.Namespace, name
	if inner, rest, found := strings.Cut(name, "/"); found {
		if namespace != "" && namespace != inner {
			return journal.Pod{}, fmt.Errorf("pod %s is not in namespace %q: leave -n out", name, namespace)
		}
		namespace, short = inner, rest
	}
	var found []journal.Pod
	for _, p := range pods {
		if p.UID == name {
			return p, nil
		}
		if p.Name == short && (namespace == "" || p.Namespace == namespace) {
			found = append(found, p)
		}
	}
	if found = newest(source, found); len(found) == 1 {
		return found[0], nil
	}
	if len(found) > 1 {
		return journal.Pod{}, fmt.Errorf("pod %q is ambiguous: %s; name it so, or with -n", name, strings.Join(fullNames(found), ", "))
	}
	text := fmt.Sprintf("the journal has no pod %q", plain.Line(name))
	if namespace != "" && namespace == w.Namespace {
		text += fmt.Sprintf(" in namespace %q", namespace)
	}
	if near := nearestOf(short, name, pods); near != "" {
		text += ": did you mean " + plain.Line(near) + "?"
	}
	return journal.Pod{}, errors.New(text)
}

// nearestOf is the pod that a misspelt name most likely means, as namespace/name; empty: none.
func nearestOf(short, name string, pods []journal.Pod) string {
	var names []string
	for _, p := range pods {
		names = append(names, p.Name)
	}
	if near := plain.Nearest(short, names); near != "" {
		return pods[slices.Index(names, near)].Namespace + "/" + near
	}
	return plain.Nearest(name, fullNames(pods))
}

func fullNames(pods []journal.Pod) (list []string) {
	for _, p := range pods {
		list = append(list, p.Namespace+"/"+p.Name)
	}
	return list
}

// newest are the pods without those whose name another one has had later.
func newest(source journal.Source, pods []journal.Pod) (list []journal.Pod) {
	last := map[string]time.Time{}
	for _, p := range pods {
		at := slices.IndexFunc(list, func(q journal.Pod) bool { return q.Namespace == p.Namespace && q.Name == p.Name })
		if at < 0 {
			list = append(list, p)
			continue
		}
		for _, uid := range []string{p.UID, list[at].UID} {
			if last[uid].IsZero() {
				last[uid] = begun(source, uid)
			}
		}
		if !last[p.UID].Before(last[list[at].UID]) {
			list[at] = p
		}
	}
	return list
}

// begun is when a pod's journal begins; zero: that can't be read.
func begun(source journal.Source, uid string) time.Time {
	record, err := source.Read(uid)
	if err != nil || len(record.Entries) == 0 {
		return time.Time{}
	}
	return record.Entries[0].At
}
