package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/internal/rootfolder"
	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/node/localapi"
	"github.com/lifepod/lifepod/worker/podlog"
)

// checkpointGate is the feature gate of checkpoints, which is on unless it is turned off.
const checkpointGate = "ContainerCheckpoint"

func (s *Server) addCheckpoint(mux *http.ServeMux) {
	if enabled, set := s.Kubelet.FeatureGates[checkpointGate]; !set || enabled {
		mux.HandleFunc("POST /checkpoint/{namespace}/{pod}/{container}", s.checkpoint)
	}
}

// checkpoint has the runtime write a running container's state into a file (A-NODE-7).
func (s *Server) checkpoint(w http.ResponseWriter, r *http.Request) {
	pod, ok := s.podOf(w, r)
	if !ok {
		return
	}
	container := r.PathValue("container")
	if !slices.ContainsFunc(lifecycle.AllContainers(pod), func(c v1.Container) bool { return c.Name == container }) {
		refuse(w, http.StatusNotFound, fmt.Sprintf("container %v does not exist", container))
		return
	}
	var seconds int64
	if given := r.URL.Query()["timeout"]; len(given) > 0 {
		var err error
		if seconds, err = strconv.ParseInt(given[len(given)-1], 10, 64); err != nil {
			refuse(w, http.StatusNotFound, "cannot parse value of timeout parameter")
			return
		}
	}
	file, err := s.writeCheckpoint(r.Context(), pod, container, seconds)
	if err != nil {
		refuse(w, http.StatusInternalServerError, fmt.Sprintf("checkpointing of %s/%s/%s failed (%v)", r.PathValue("namespace"), r.PathValue("pod"), container, err))
		return
	}
	writeJSON(w, map[string][]string{"items": {file}})
}

// writeCheckpoint takes at least as long as other calls of the runtime may, and longer if
// seconds says so. It returns the file.
func (s *Server) writeCheckpoint(ctx context.Context, pod *v1.Pod, container string, seconds int64) (string, error) {
	id := runningID(podlog.StatusOf(pod, container))
	if id == "" {
		return "", fmt.Errorf("container %v not found", container)
	}
	if seconds < 0 {
		return "", errors.New("CheckpointContainer requires the timeout value to be > 0")
	}
	timeout := max(s.Kubelet.RuntimeRequestTimeout.Duration, time.Duration(seconds)*time.Second)
	if err := rootfolder.Ensure(s.Folders.Checkpoints, 0o700); err != nil {
		return "", err
	}
	name := fmt.Sprintf("checkpoint-%s-%s-%s.tar", fullName(pod), container, time.Now().Format(time.RFC3339))
	request := &runtimeapi.CheckpointContainerRequest{ContainerId: id, Location: filepath.Join(s.Folders.Checkpoints, name), Timeout: int64(timeout / time.Second)}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	_, err := s.Runtime.CheckpointContainer(ctx, request)
	return request.Location, err
}

// Changes wakes those who wait for a pod's next status, or watch all pods. A pod for which nobody
// waits costs nothing.
type Changes struct {
	any localapi.Changes // of whichever pod

	mu   sync.Mutex
	pods map[types.UID]*change
}

// change is the next one of a pod.
type change struct {
	came    chan struct{} // closed when it has come
	waiters int
}

// next is closed when the pod changes. forget is to be called when it is not waited for
// any more.
func (c *Changes) next(uid types.UID) (came <-chan struct{}, forget func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pods == nil {
		c.pods = map[types.UID]*change{}
	}
	next := c.pods[uid]
	if next == nil {
		next = &change{came: make(chan struct{})}
		c.pods[uid] = next
	}
	next.waiters++
	return next.came, func() { c.forget(uid, next) }
}

func (c *Changes) forget(uid types.UID, next *change) {
	c.mu.Lock()
	defer c.mu.Unlock()
	next.waiters--
	if next.waiters == 0 && c.pods[uid] == next {
		delete(c.pods, uid)
	}
}

// PodsAPI answers requests about the pods of the node, as localapi.NewPodsAPI has it.
func (c *Changes) PodsAPI(pods func() []*v1.Pod, complete func() <-chan struct{}) *localapi.PodsAPI {
	return localapi.NewPodsAPI(pods, complete, &c.any)
}

// Changed tells that a pod is another one, has another status, or is gone: who follows its logs looks.
// It does not block. Call it after the Node knows.
func (c *Changes) Changed(uid types.UID) {
	c.any.Changed()
	c.mu.Lock()
	defer c.mu.Unlock()
	if next := c.pods[uid]; next != nil {
		close(next.came)
		delete(c.pods, uid)
	}
}
