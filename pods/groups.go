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
	// called from anywhere, and does not block. The pod is to have those annotations of the node, besides what it has.
	Join(pod *v1.Pod, says map[string]string, tell func(lifecycle.GroupSeen))
	// Says takes the annotations of the node that the pod is to have now, before the API server is told of them.
	Says(uid types.UID, annotations map[string]string)
	// Shows takes the pod as the API server has it now.
	Shows(pod *v1.Pod)
	// Leave ends what Join began: the pod is gone, or has failed.
	Leave(uid types.UID)
}

// beginsInGroup has a pod that begins, or goes on, told of its group (B-GRP-1).
func (s *Shell) beginsInGroup(l *living) {
	pod := l.Worker.Pod()
	switch {
	case !lifecycle.AsksForGroup(pod) || l.status.Phase == v1.PodFailed:
	case s.Cluster.Groups == nil || l.now.Load().source != roster.API:
		l.Tell(lifecycle.GroupSeen{Unknown: lifecycle.Because{Kind: "not-in-the-api"}})
	default:
		s.Cluster.Groups.Join(l.now.Load().pod, l.Worker.Machine().GroupAnnotations(), func(seen lifecycle.GroupSeen) { l.Tell(seen) })
	}
}

func (s *Shell) leavesGroup(l *living) {
	if s.Cluster.Groups != nil {
		s.Cluster.Groups.Leave(l.uid())
	}
}

// showsGroup has the pod's group know what the API server shows of the pod.
func (s *Shell) showsGroup(now *wanted) {
	if s.Cluster.Groups != nil && now.source == roster.API && lifecycle.AsksForGroup(now.pod) {
		s.Cluster.Groups.Shows(now.pod)
	}
}

// tellAttempt has the group know at once, and the next status say, which attempt of its group the pod takes part in
// (B-GRP-3, B-GRP-18). The worker's goroutine calls it.
func (l *living) tellAttempt(now *wanted) {
	all := l.Worker.Machine().GroupAnnotations()
	if all == nil || now.source != roster.API {
		return
	}
	if groups := l.shell.Cluster.Groups; groups != nil {
		groups.Says(l.uid(), all)
	}
	l.shell.Cluster.Statuses.Annotate(now.pod, all)
}
