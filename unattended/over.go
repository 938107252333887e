package unattended

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/lifepod/lifepod/control"
	"github.com/lifepod/lifepod/journal"
	"github.com/lifepod/lifepod/lifecycle"
)

// Over are the pods of a state folder's journals that are meant and that no lifepod leads, those of a name the oldest
// first. Some may have been left by a killed lifepod that will go on with them: who asks knows those.
func Over(root string, journals []journal.Folder, meant func(*journal.Pod) bool) (list []Pod) {
	for _, from := range journals {
		pods, _ := from.Pods() // those that can be read
		for i := range pods {
			if !meant(&pods[i]) {
				continue
			}
			if r, err := from.Read(pods[i].UID); err == nil && !r.Living && r.Now != nil {
				list = append(list, over(root, from, r))
			}
		}
	}
	slices.SortStableFunc(list, func(a, b Pod) int {
		return cmp.Or(cmp.Compare(a.FullName(), b.FullName()), a.CreationTimestamp.Compare(b.CreationTimestamp.Time))
	})
	return list
}

func over(root string, from journal.Folder, r *journal.Record) Pod {
	p := Pod{Pod: r.PodObject(), Root: root, Journals: []journal.Folder{from}, Over: true}
	object := control.NewObject(p.Pod)
	for _, e := range r.Entries {
		if e.Kind == journal.Event {
			object.Event(e.At, lifecycle.RecordEvent{Reason: e.Name, Type: e.Value, Message: e.What, FieldPath: fieldPath(&r.Pod, e.Container)})
		}
	}
	p.Events = object.Events()
	if r.Now.Stage != lifecycle.Gone.String() && !p.Ended() {
		p.Status.Reason, p.Status.Message = Reason, p.Why(fmt.Sprintf)
	}
	return p
}

// Forget removes what the journal has of a pod that is over.
func (p Pod) Forget() (all error) {
	for _, j := range p.Journals {
		all = errors.Join(all, j.Remove(string(p.UID)))
	}
	return all
}

// fieldPath is the container that an Event is about; empty: the pod.
func fieldPath(pod *journal.Pod, container string) string {
	for _, c := range pod.Containers {
		if c.Name == container {
			kinds := map[string]string{"init": "initContainers", "sidecar": "initContainers", "ephemeral": "ephemeralContainers"}
			return "spec." + cmp.Or(kinds[c.Kind], "containers") + "{" + container + "}"
		}
	}
	return ""
}
