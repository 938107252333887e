// Package groups tells pods how far their groups are, which restart as one (B-GRP). A pod
// asks for its JobSet to be its group (JobSets), or to be a member of a group without a leader (Members).
// What follows is decided elsewhere (lifecycle/group).
package groups

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lifepod/lifepod/lifecycle"
)

// Groups are those of both kinds that pods of a node take part in.
type Groups struct {
	JobSets interface { // JobSets, which may be those of all nodes of the process
		Join(pod *v1.Pod, tell func(lifecycle.GroupSeen))
		Leave(uid types.UID)
	}
	Members *Members
}

// Join calls tell with how far the pod's group is, soon and after each change (pods.Groups).
func (g *Groups) Join(pod *v1.Pod, says map[string]string, tell func(lifecycle.GroupSeen)) {
	if pod.Annotations[lifecycle.GroupAnnotation] == lifecycle.LedByMembers {
		g.Members.join(pod, says, tell)
		return
	}
	g.JobSets.Join(pod, tell)
}

// Says takes which annotations the pod is to have.
func (g *Groups) Says(uid types.UID, annotations map[string]string) { g.Members.says(uid, annotations) }

// Shows takes the pod as the API server has it.
func (g *Groups) Shows(pod *v1.Pod) { g.Members.shows(pod) }

// Leave ends what Join began.
func (g *Groups) Leave(uid types.UID) {
	g.Members.leave(uid)
	g.JobSets.Leave(uid)
}
