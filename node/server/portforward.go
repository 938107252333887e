package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	translator "k8s.io/apiserver/pkg/util/proxy"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/streaming/pkg/httpstream/wsstream"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/cri"
	"github.com/lifepod/lifepod/worker/criconfig"
)

// portForward forwards connections to ports of a pod: by SPDY, by WebSockets of
// the old kind with the ports in the query, or by SPDY tunnelled through a
// WebSocket (KEP-4006).
func (s *Server) portForward(w http.ResponseWriter, r *http.Request) {
	tunnelled := wsstream.IsWebSocketRequestWithTunnelingProtocol(r)
	var ports []int32
	if !tunnelled && wsstream.IsWebSocketRequest(r) {
		var err error
		if ports, err = parsePorts(r.URL.Query()["port"]); err != nil {
			refuse(w, http.StatusBadRequest, err.Error())
			return
		}
	}
	pod, ok := s.podOf(w, r)
	if !ok {
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), answerTimeout)
	defer cancel()
	sandbox, err := s.sandboxOf(ctx, pod)
	if err != nil {
		refuse(w, http.StatusInternalServerError, err.Error())
		return
	}
	response, err := s.Runtime.PortForward(ctx, &runtimeapi.PortForwardRequest{PodSandboxId: sandbox, Port: ports})
	target, ok := target(w, response.GetUrl(), err)
	if !ok {
		return
	}
	handler := s.upgrade(s.relay(r, func(w http.ResponseWriter, r *http.Request) {
		f := &forwarding{ready: func() bool { return s.stillReady(pod, sandbox) }, log: s.Log.With("pod", pod.Name, "namespace", pod.Namespace)}
		s.forward(w, r, pod, target, f, ports)
	}))
	if tunnelled {
		handler = translator.NewTunnelingHandler(handler)
	}
	handler.ServeHTTP(w, r)
}

// sandboxOf is the newest sandbox of a pod that is ready.
func (s *Server) sandboxOf(ctx context.Context, pod *v1.Pod) (string, error) {
	list, err := s.Runtime.ListPodSandbox(ctx, &runtimeapi.ListPodSandboxRequest{Filter: &runtimeapi.PodSandboxFilter{
		State:         &runtimeapi.PodSandboxStateValue{State: runtimeapi.PodSandboxState_SANDBOX_READY},
		LabelSelector: map[string]string{criconfig.PodUIDLabel: string(pod.UID)},
	}})
	if err != nil {
		return "", errors.New("list the pods of the runtime: " + cri.Text(err))
	}
	if len(list.Items) == 0 {
		return "", fmt.Errorf("pod not found (%q)", fullName(pod))
	}
	return slices.MaxFunc(list.Items, func(a, b *runtimeapi.PodSandbox) int { return int(a.CreatedAt - b.CreatedAt) }).Id, nil
}

func parsePorts(texts []string) ([]int32, error) {
	if len(texts) == 0 {
		return nil, errors.New(`query parameter "port" is required`)
	}
	var ports []int32
	for _, text := range texts {
		if text == "" {
			return nil, errors.New(`query parameter "port" cannot be empty`)
		}
		for one := range strings.SplitSeq(text, ",") {
			port, err := strconv.ParseUint(one, 10, 16)
			if err != nil {
				return nil, fmt.Errorf("unable to parse %q as a port: %w", text, err)
			}
			if port < 1 {
				return nil, fmt.Errorf("port %q must be > 0", text)
			}
			ports = append(ports, int32(port))
		}
	}
	return ports, nil
}
