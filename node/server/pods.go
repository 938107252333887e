package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/cri"
	"github.com/lifepod/lifepod/worker/criconfig"
)

// pods answers what the sources want.
func (s *Server) pods(w http.ResponseWriter, r *http.Request) {
	list := newList()
	for _, pod := range s.Node.Pods() {
		list.Items = append(list.Items, *pod)
	}
	writeJSON(w, list)
}

// runningPods answers what the runtime has that runs.
func (s *Server) runningPods(w http.ResponseWriter, r *http.Request) {
	sandboxes, err := s.Runtime.ListPodSandbox(r.Context(), &runtimeapi.ListPodSandboxRequest{Filter: &runtimeapi.PodSandboxFilter{
		State: &runtimeapi.PodSandboxStateValue{State: runtimeapi.PodSandboxState_SANDBOX_READY},
	}})
	if err != nil {
		refuse(w, http.StatusInternalServerError, "list the pods of the runtime: "+cri.Text(err))
		return
	}
	containers, err := s.Runtime.ListContainers(r.Context(), &runtimeapi.ListContainersRequest{Filter: &runtimeapi.ContainerFilter{
		State: &runtimeapi.ContainerStateValue{State: runtimeapi.ContainerState_CONTAINER_RUNNING},
	}})
	if err != nil {
		refuse(w, http.StatusInternalServerError, "list the containers of the runtime: "+cri.Text(err))
		return
	}
	writeJSON(w, running(sandboxes.Items, containers.Containers))
}

// running makes pods of what runs, by namespace and name.
func running(sandboxes []*runtimeapi.PodSandbox, containers []*runtimeapi.Container) *v1.PodList {
	pods := map[string]*v1.Pod{}
	of := func(labels map[string]string) *v1.Pod {
		uid := labels[criconfig.PodUIDLabel]
		if pods[uid] == nil && uid != "" { // else something else runs on the same runtime
			pods[uid] = &v1.Pod{ObjectMeta: metav1.ObjectMeta{
				UID: types.UID(uid), Namespace: labels[criconfig.PodNamespaceLabel], Name: labels[criconfig.PodNameLabel],
			}}
		}
		return pods[uid]
	}
	for _, sandbox := range sandboxes {
		of(sandbox.Labels)
	}
	for _, container := range containers {
		name := container.Labels[criconfig.ContainerNameLabel]
		if pod := of(container.Labels); pod != nil && name != "" {
			pod.Spec.Containers = append(pod.Spec.Containers, v1.Container{Name: name, Image: container.GetImage().GetImage()})
		}
	}
	list := newList()
	for _, pod := range pods {
		list.Items = append(list.Items, *pod)
	}
	slices.SortFunc(list.Items, func(a, b v1.Pod) int {
		return strings.Compare(a.Namespace+"/"+a.Name+"/"+string(a.UID), b.Namespace+"/"+b.Name+"/"+string(b.UID))
	})
	return list
}

func newList() *v1.PodList {
	return &v1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}, Items: []v1.Pod{}}
}

// configz answers the node's configuration.
func (s *Server) configz(w http.ResponseWriter, _ *http.Request) {
	configuration := *s.Kubelet
	configuration.TypeMeta = metav1.TypeMeta{}
	writeJSON(w, map[string]any{"kubeletconfig": configuration})
}

func writeJSON(w http.ResponseWriter, value any) {
	text, err := json.Marshal(value)
	if err != nil {
		refuse(w, http.StatusInternalServerError, err.Error())
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(text) // a client that has gone needs no answer
}

// hearing is how long a node that has just begun may not know its pods: with an API server that is away it
// may be long.
const hearing = 10 * time.Second

// named is the pod whose name a request has.
func (s *Server) named(r *http.Request) (*v1.Pod, bool) {
	namespace, name := r.PathValue("namespace"), r.PathValue("pod")
	if pod, ok := s.Node.Pod(namespace, name); ok || s.Node.Complete() == nil {
		return pod, ok
	}
	timer := time.NewTimer(hearing)
	defer timer.Stop()
	select {
	case <-s.Node.Complete():
	case <-timer.C:
	case <-r.Context().Done():
	}
	return s.Node.Pod(namespace, name)
}

// podOf is the pod that a request names; if there is none it has answered.
func (s *Server) podOf(w http.ResponseWriter, r *http.Request) (*v1.Pod, bool) {
	pod, ok := s.named(r)
	if !ok {
		refuse(w, http.StatusNotFound, "pod does not exist")
		return nil, false
	}
	if uid := types.UID(r.PathValue("uid")); uid != "" {
		if named, ok := s.Node.PodByUID(uid); !ok || named.UID != pod.UID {
			refuse(w, http.StatusNotFound, "pod not found")
			return nil, false
		}
	}
	return pod, true
}

// runningID is the runtime's ID of a container of a pod, empty if it does not run.
func runningID(status *v1.ContainerStatus) string {
	if status == nil || status.State.Running == nil {
		return ""
	}
	_, id, _ := strings.Cut(status.ContainerID, "://")
	return id
}

// fullName is how the kubelet names a pod in its errors.
func fullName(pod *v1.Pod) string { return fmt.Sprintf("%s_%s", pod.Name, pod.Namespace) }
