package localapi

import (
	"bytes"
	"context"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	api "k8s.io/kubelet/pkg/apis/pods/v1alpha1"
)

// Changes wakes those who watch pods.
type Changes struct {
	mu   sync.Mutex
	next chan struct{} // closed by Changed; nil: nobody waits
}

// Changed tells that some pod has changed. It does not block. Call it after the node knows.
func (c *Changes) Changed() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.next != nil {
		close(c.next)
		c.next = nil
	}
}

// change is closed when some pod changes.
func (c *Changes) change() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.next == nil {
		c.next = make(chan struct{})
	}
	return c.next
}

// PodsAPI answers requests about the pods of the node.
type PodsAPI struct {
	api.UnimplementedPodsServer
	pods     func() []*v1.Pod
	complete func() <-chan struct{}
	changes  *Changes
	counts
}

// NewPodsAPI makes a server of the pods that the sources want, each with its current status. complete is closed, or nil, once all
// sources have said which.
func NewPodsAPI(pods func() []*v1.Pod, complete func() <-chan struct{}, changes *Changes) *PodsAPI {
	return &PodsAPI{pods: pods, complete: complete, changes: changes, counts: newPodsCounts()}
}

// ready is why nothing is answered yet; nil if it is (A-NODE-8).
func (s *PodsAPI) ready() error {
	complete := s.complete()
	if complete == nil {
		return nil
	}
	select {
	case <-complete:
		return nil
	default:
		return status.Error(codes.FailedPrecondition, "Kubelet is initializing")
	}
}

// sorted are the pods by their UIDs.
func (s *PodsAPI) sorted() []*v1.Pod {
	list := slices.Clone(s.pods())
	slices.SortFunc(list, func(a, b *v1.Pod) int { return strings.Compare(string(a.UID), string(b.UID)) })
	return list
}

func encode(pod *v1.Pod) ([]byte, error) {
	text, err := pod.Marshal()
	if err != nil {
		return nil, status.Errorf(codes.Internal, "failed to marshal pod: %v", err)
	}
	return text, nil
}

// ListPods answers with all pods (A-NODE-8).
func (s *PodsAPI) ListPods(context.Context, *api.ListPodsRequest) (answer *api.ListPodsResponse, err error) {
	defer func() { s.answered("list_total", err) }()
	if err := s.ready(); err != nil {
		return nil, err
	}
	answer = &api.ListPodsResponse{}
	for _, pod := range s.sorted() {
		text, err := encode(pod)
		if err != nil {
			return nil, err
		}
		answer.Pods = append(answer.Pods, text)
	}
	return answer, nil
}

// GetPod answers with one pod (A-NODE-8).
func (s *PodsAPI) GetPod(_ context.Context, r *api.GetPodRequest) (answer *api.GetPodResponse, err error) {
	defer func() { s.answered("get_total", err) }()
	if err := s.ready(); err != nil {
		return nil, err
	}
	for _, pod := range s.pods() {
		if string(pod.UID) == r.PodUID {
			text, err := encode(pod)
			return &api.GetPodResponse{Pod: text}, err
		}
	}
	return nil, status.Errorf(codes.NotFound, "pod with UID %s not found", r.PodUID)
}

// sentPod is what a client was told of a pod.
type sentPod struct {
	name types.NamespacedName
	text []byte
}

// WatchPods tells of all pods and then of what changes, until the client goes. A client
// that is slow is told of the newest version only (A-NODE-9).
func (s *PodsAPI) WatchPods(_ *api.WatchPodsRequest, stream grpc.ServerStreamingServer[api.WatchPodsEvent]) (err error) {
	defer func() { s.answered("watch_total", err) }()
	if err := s.ready(); err != nil {
		return err
	}
	known := map[types.UID]sentPod{}
	for first := true; ; first = false {
		changed := s.changes.change() // before the look, so that nothing is missed
		if err := s.tell(stream, known); err != nil {
			return err
		}
		if first {
			if err := stream.Send(&api.WatchPodsEvent{Type: api.EventType_INITIAL_SYNC_COMPLETE}); err != nil {
				return err
			}
		}
		select {
		case <-changed:
		case <-stream.Context().Done():
			return stream.Context().Err()
		}
	}
}

// tell tells a client what is different from what it knows.
func (s *PodsAPI) tell(stream grpc.ServerStreamingServer[api.WatchPodsEvent], known map[types.UID]sentPod) error {
	there := map[types.UID]bool{}
	for _, pod := range s.sorted() {
		there[pod.UID] = true
		text, err := encode(pod)
		if err != nil {
			return err
		}
		before, seen := known[pod.UID]
		if seen && bytes.Equal(before.text, text) {
			continue
		}
		event := api.EventType_MODIFIED
		if !seen {
			event = api.EventType_ADDED
		}
		if err := stream.Send(&api.WatchPodsEvent{Type: event, Pod: text}); err != nil {
			return err
		}
		known[pod.UID] = sentPod{types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}, text}
	}
	for uid, one := range known {
		if there[uid] {
			continue
		}
		text, err := encode(&v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: one.name.Namespace, Name: one.name.Name, UID: uid}})
		if err == nil {
			err = stream.Send(&api.WatchPodsEvent{Type: api.EventType_DELETED, Pod: text})
		}
		if err != nil {
			return err
		}
		delete(known, uid)
	}
	return nil
}

// PodsAPISocket is the name of the socket in its folder.
const PodsAPISocket = "pods-api.sock"

// Listen makes the socket in a folder. What it returns serves until ctx ends.
func (s *PodsAPI) Listen(dir string) (serve func(context.Context) error, err error) {
	return Listen(filepath.Join(dir, PodsAPISocket), func(to grpc.ServiceRegistrar) { api.RegisterPodsServer(to, s) })
}
