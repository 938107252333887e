package groups

import (
	"reflect"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/lifepod/lifepod/lifecycle"
)

// membership is a JobSet with its members, guarded by the mu of Groups.
type membership struct {
	members map[types.UID]*member
	version string              // the newest that is known; empty: none is
	now     lifecycle.GroupSeen // how far it is in that version
}

// member is a pod's place in a JobSet, and who is told.
type member struct {
	tell func(lifecycle.GroupSeen)
	read bool // its JobSet was read since it has joined: what the watch has may be older than the pod (B-GRP-2)
}

// takes files a JobSet, unless a newer version is known (B-GRP-8), and tells the members that have
// joined before if it says something else than that one. A change that says the same, such as how many
// pods are ready, is told to nobody: there may be thousands of members.
func (m *membership) takes(jobSet *unstructured.Unstructured) {
	version := jobSet.GetResourceVersion()
	if m.version != "" {
		if order, err := resourceversion.CompareResourceVersion(version, m.version); err == nil && order < 0 {
			return
		}
	}
	now := standing(jobSet)
	news := m.version == "" || !reflect.DeepEqual(now, m.now)
	m.version, m.now = version, now
	if !news {
		return
	}
	for _, member := range m.members {
		if member.read {
			member.tell(now)
		}
	}
}

// tells tells members how far their JobSet is that have not been told yet.
func (m *membership) tells(reading []*member) {
	for _, member := range reading {
		member.read = true
		member.tell(m.now)
	}
}
