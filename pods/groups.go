package pods

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/roster"
)

// Groups tell pods how far the groups are that restart as one (package node/groups).
type Groups interface {
	// Join calls tell with how far the pod's group is, soon and after each change. tell may be
	// called from anywhere, and does not block.
	Join(pod *v1.Pod, tell func(lifecycle.GroupSeen))
	// Leave ends that.
	Leave(uid types.UID)
}

// beginsInGroup has a pod that begins, or goes on, told of its group (B-GRP-1).
func (s *Shell) beginsInGroup(l *living) {
	pod := l.Worker.Pod()
	switch {
	case !lifecycle.AsksForGroup(pod):
	case s.Cluster.Groups == nil || l.now.Load().source != roster.API:
		l.Tell(lifecycle.GroupSeen{Unknown: "only a pod of the API can take part in a group"})
	default:
		s.Cluster.Groups.Join(pod, func(seen lifecycle.GroupSeen) { l.Tell(seen) })
	}
}

func (s *Shell) leavesGroup(l *living) {
	if s.Cluster.Groups != nil {
		s.Cluster.Groups.Leave(l.uid())
	}
}

// tellAttempt has the next status say which attempt of its group the pod takes part in
// (B-GRP-3, B-GRP-18). The worker's goroutine calls it.
func (l *living) tellAttempt(now *wanted) {
	if all := l.Worker.Machine().GroupAnnotations(); all != nil && now.source == roster.API {
		l.shell.Cluster.Statuses.Annotate(now.pod, all)
	}
}
