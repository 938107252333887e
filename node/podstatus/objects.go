package podstatus

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// objects are the API's objects of the node's pods as the watch last showed them.
// They are the informer's own, not copies.
type objects struct {
	byOwner map[types.UID]*v1.Pod // by the UID that the node knows the pod by
	byName  map[types.NamespacedName]*v1.Pod
}

func newObjects() objects {
	return objects{byOwner: map[types.UID]*v1.Pod{}, byName: map[types.NamespacedName]*v1.Pod{}}
}

func nameOf(pod *v1.Pod) types.NamespacedName {
	return types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}
}

func (o *objects) of(owner types.UID) *v1.Pod { return o.byOwner[owner] }

// put files an object; old is another of the same name that there no longer is.
func (o *objects) put(pod *v1.Pod) (old *v1.Pod) {
	name := nameOf(pod)
	if before := o.byName[name]; before != nil && before.UID != pod.UID {
		o.remove(before)
		old = before
	}
	o.byName[name] = pod
	o.byOwner[ownerOf(pod)] = pod
	return old
}

// remove forgets an object, and says whether it was there.
func (o *objects) remove(pod *v1.Pod) bool {
	if have := o.byName[nameOf(pod)]; have != nil && have.UID == pod.UID {
		delete(o.byName, nameOf(pod))
	}
	have := o.byOwner[ownerOf(pod)]
	if have == nil || have.UID != pod.UID {
		return false
	}
	delete(o.byOwner, ownerOf(pod))
	return true
}

// newer says whether a is a later version of an object than b; of versions that
// can't be compared, the watch's is.
func newer(a, b *v1.Pod) bool {
	order, err := resourceversion.CompareResourceVersion(a.ResourceVersion, b.ResourceVersion)
	return err == nil && order > 0
}
