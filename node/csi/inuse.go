package csi

import (
	"fmt"
	"maps"
	"slices"
	"sync"

	v1 "k8s.io/api/core/v1"
)

// inUse are the volumes that must not be detached from the node, and what the API has of that
// (A-CSI-5). The controller that detaches a volume removes it from the Node's volumesAttached
// first, and looks at its volumesInUse then. A version of the Node that has the volume in both
// thus means that it stays attached for as long as it is in use.
type inUse struct {
	changed func() // called when the list has changed

	mu      sync.Mutex
	kept    map[key]bool      // by what is on disk
	waiting map[podVolume]key // of pods that wait for the volume to be attached
	// listed has those of the last list. A Node that was heard of before is not what comes of that
	// list: a volume may have left the list and have come back.
	listed map[key]bool
	node   *v1.Node      // as it was heard of last; nil: not yet
	heard  chan struct{} // closed when attached may have another answer
}

// uniqueName is what the controller that attaches volumes calls it.
func (k key) uniqueName() v1.UniqueVolumeName {
	return v1.UniqueVolumeName(fmt.Sprintf("%s/%s^%s", pluginName, k.driver, k.handle))
}

// has is for who holds mu.
func (u *inUse) has(k key) bool {
	if u.kept[k] {
		return true
	}
	for _, of := range u.waiting {
		if of == k {
			return true
		}
	}
	return false
}

// change changes what says that a volume is in use.
func (u *inUse) change(k key, how func()) {
	u.mu.Lock()
	before := u.has(k)
	how()
	after := u.has(k)
	if !after {
		delete(u.listed, k)
	}
	u.mu.Unlock()
	if before != after {
		u.changed()
	}
}

// drop has a volume not be in use, unless a pod waits for it.
func (u *inUse) drop(k key) { u.change(k, func() { delete(u.kept, k) }) }

// await has a volume be in use from before it is attached, until arrived or left.
func (u *inUse) await(of podVolume, k key) { u.change(k, func() { u.waiting[of] = k }) }

// arrived: what is on disk says from now on that the volume is in use.
func (u *inUse) arrived(of podVolume, k key) {
	u.change(k, func() {
		u.kept[k] = true
		delete(u.waiting, of)
	})
}

// left: the pod waits for no volume any more.
func (u *inUse) left(is func(podVolume) bool) {
	u.mu.Lock()
	gone := maps.Clone(u.waiting)
	u.mu.Unlock()
	for of, k := range gone {
		if is(of) {
			u.change(k, func() { delete(u.waiting, of) })
		}
	}
}

// list is what the Node's status is to say: attaches says of which drivers, since a volume that is
// listed is not detached even if its driver needs no attachments any more. The caller writes one
// status after the other.
func (u *inUse) list(attaches func(driver string) bool) []v1.UniqueVolumeName {
	u.mu.Lock()
	defer u.mu.Unlock()
	all, news := maps.Clone(u.kept), false
	for _, k := range u.waiting {
		all[k] = true
	}
	maps.DeleteFunc(all, func(k key, _ bool) bool { return !attaches(k.driver) })
	names := make([]v1.UniqueVolumeName, 0, len(all))
	for k := range all {
		names = append(names, k.uniqueName())
		news = news || !u.listed[k]
	}
	u.listed = all
	if news { // the Node may say it already
		u.wake()
	}
	slices.Sort(names)
	return names
}

// hear takes a newer version of the Node.
func (u *inUse) hear(node *v1.Node) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.node = node
	u.wake()
}

// wake is for who holds mu.
func (u *inUse) wake() {
	close(u.heard)
	u.heard = make(chan struct{})
}

// attached says whether the Node says that a volume is attached, and in use; why has the words of
// Kubernetes for what is missing. The channel is closed when the answer may be another one.
func (u *inUse) attached(k key) (why string, changes <-chan struct{}) {
	u.mu.Lock()
	defer u.mu.Unlock()
	name := k.uniqueName()
	switch is := func(a v1.AttachedVolume) bool { return a.Name == name }; {
	case u.node == nil || !u.listed[k] || !slices.Contains(u.node.Status.VolumesInUse, name):
		why = "Volume has not been added to the list of VolumesInUse in the node's volume status"
	case !slices.ContainsFunc(u.node.Status.VolumesAttached, is):
		why = "Volume not attached according to node status"
	}
	return why, u.heard
}
