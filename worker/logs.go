package worker

import (
	"context"
	"log/slog"
	"path/filepath"
	"strings"

	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/worker/criconfig"
	"github.com/lifepod/lifepod/worker/podlog"
)

// NewLogs rotates the logs of a runtime's containers by a policy, the kubelet's if it
// is zero (A-CRI-1, B-LOG-1). It is for Node.Logs; the caller runs it.
func NewLogs(policy podlog.RotationPolicy, runtime runtimeapi.RuntimeServiceClient, log *slog.Logger) *podlog.Rotator {
	if policy == (podlog.RotationPolicy{}) {
		policy = podlog.DefaultRotation()
	}
	reopen := func(ctx context.Context, containerID string) error {
		ctx, cancel := context.WithTimeout(ctx, DefaultTimeouts().Call)
		defer cancel()
		_, err := runtime.ReopenContainerLog(ctx, &runtimeapi.ReopenContainerLogRequest{ContainerId: containerID})
		return err
	}
	return podlog.NewRotator(policy, reopen, log)
}

// watchLogs has the logs of the containers rotated that run by a status.
func (h *executor) watchLogs(status *v1.PodStatus) {
	if h.engine.Logs == nil {
		return
	}
	var running []podlog.RotatedLog
	for _, c := range lifecycle.ContainerStatuses(status) {
		if c.State.Running != nil {
			_, id, _ := strings.Cut(c.ContainerID, "://")
			path := criconfig.ContainerLogPath(c.Name, int(c.RestartCount))
			running = append(running, podlog.RotatedLog{ContainerID: id, Path: filepath.Join(h.engine.Config.PodLogDirectory(h.pod), path)})
		}
	}
	h.engine.Logs.Watch(h.pod.UID, running)
}

// leaveLogs returns when nothing is at work on the pod's logs any more.
func (h *executor) leaveLogs() {
	if h.engine.Logs != nil {
		h.engine.Logs.Leave(h.pod.UID)
	}
}
