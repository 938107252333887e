package publish

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// objects are the API's objects of the node's pods as the watch last showed them.
// They are the informer's own, not copies.
type objects map[types.NamespacedName]*v1.Pod

func nameOf(pod *v1.Pod) types.NamespacedName {
	return types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}
}

// of is the object of a pod; nil if there is none.
func (o objects) of(pod Ref) *v1.Pod {
	object := o[types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}]
	if object == nil || !pod.isShownBy(object) {
		return nil
	}
	return object
}

// put files an object; old is another of the same name that there no longer is.
func (o objects) put(pod *v1.Pod) (old *v1.Pod) {
	name := nameOf(pod)
	if before := o[name]; before != nil && before.UID != pod.UID {
		old = before
	}
	o[name] = pod
	return old
}

// remove forgets an object, and says whether it was there.
func (o objects) remove(pod *v1.Pod) bool {
	have := o[nameOf(pod)]
	if have == nil || have.UID != pod.UID {
		return false
	}
	delete(o, nameOf(pod))
	return true
}

// newer says whether a is a later version of an object than b; of versions that
// can't be compared, the watch's is.
func newer(a, b *v1.Pod) bool {
	order, err := resourceversion.CompareResourceVersion(a.ResourceVersion, b.ResourceVersion)
	return err == nil && order > 0
}
