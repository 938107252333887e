package crifake

import (
	"context"
	"fmt"
	"slices"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

type sandbox struct {
	id        string
	config    *runtimeapi.PodSandboxConfig
	ip        string
	ready     bool
	createdAt time.Time
}

func (s *sandbox) name() string {
	m := s.config.Metadata
	return fmt.Sprintf("%s_%s_%s_%d", m.Name, m.Namespace, m.Uid, m.Attempt)
}

func (s *sandbox) stateText() string {
	if s.ready {
		return "ready"
	}
	return "not ready"
}

func (s *sandbox) status() *runtimeapi.PodSandboxStatus {
	state := runtimeapi.PodSandboxState_SANDBOX_NOTREADY
	if s.ready {
		state = runtimeapi.PodSandboxState_SANDBOX_READY
	}
	return &runtimeapi.PodSandboxStatus{
		Id: s.id, Metadata: s.config.Metadata, State: state, CreatedAt: s.createdAt.UnixNano(),
		Labels: s.config.Labels, Annotations: s.config.Annotations,
		Network: &runtimeapi.PodSandboxNetworkStatus{Ip: s.ip},
	}
}

// RunPodSandbox makes a sandbox.
func (r *Runtime) RunPodSandbox(ctx context.Context, in *runtimeapi.RunPodSandboxRequest, _ ...callOption) (*runtimeapi.RunPodSandboxResponse, error) {
	s := &sandbox{config: in.Config, ready: true}
	err := r.do(ctx, call{
		rpc: "RunPodSandbox", subject: in.Config.Metadata.Name, detail: sandboxDetail(in),
		name: s.name(),
		effect: func(context.Context) error {
			r.mu.Lock()
			defer r.mu.Unlock()
			s.id, s.createdAt = r.newID(s.config.Metadata.Name), time.Now()
			s.ip = fmt.Sprintf("10.0.0.%d", r.lastID)
			r.sandboxes = append(r.sandboxes, s)
			r.reserved[s.name()] = s.id
			r.emit(s, nil, created)
			r.emit(s, nil, started)
			return nil
		},
	})
	if err != nil {
		return nil, err
	}
	return &runtimeapi.RunPodSandboxResponse{PodSandboxId: s.id}, nil
}

// sandboxDetail is what a request is told apart by in Calls.
func sandboxDetail(in *runtimeapi.RunPodSandboxRequest) string {
	detail := fmt.Sprintf("attempt=%d", in.Config.Metadata.Attempt)
	if in.RuntimeHandler != "" {
		detail += " handler=" + in.RuntimeHandler
	}
	if users := in.Config.GetLinux().GetSecurityContext().GetNamespaceOptions().GetUsernsOptions(); users.GetMode() == runtimeapi.NamespaceMode_POD {
		detail += " own-users"
	}
	return detail
}

// StopPodSandbox kills what runs in a sandbox and ends it; one that is not there
// is no error.
func (r *Runtime) StopPodSandbox(ctx context.Context, in *runtimeapi.StopPodSandboxRequest, _ ...callOption) (*runtimeapi.StopPodSandboxResponse, error) {
	return &runtimeapi.StopPodSandboxResponse{}, r.do(ctx, call{
		rpc: "StopPodSandbox", subject: r.podOf(in.PodSandboxId),
		effect: func(context.Context) error {
			r.mu.Lock()
			defer r.mu.Unlock()
			if s := r.sandbox(in.PodSandboxId); s != nil {
				r.stopSandbox(s)
			}
			return nil
		},
	})
}

func (r *Runtime) stopSandbox(s *sandbox) {
	for _, c := range r.containersIn(s.id) {
		r.exit(c, 137, "Error")
	}
	if s.ready {
		s.ready = false
		r.emit(s, nil, stopped)
	}
}

// EndSandbox makes a pod's sandboxes not ready, unasked, as if their process had died.
func (r *Runtime) EndSandbox(pod string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.sandboxes {
		if s.config.Metadata.Name == pod && s.ready {
			s.ready = false
			r.emit(s, nil, stopped)
		}
	}
}

// RemovePodSandbox removes a sandbox with all its containers; one that is not
// there is no error.
func (r *Runtime) RemovePodSandbox(ctx context.Context, in *runtimeapi.RemovePodSandboxRequest, _ ...callOption) (*runtimeapi.RemovePodSandboxResponse, error) {
	return &runtimeapi.RemovePodSandboxResponse{}, r.do(ctx, call{
		rpc: "RemovePodSandbox", subject: r.podOf(in.PodSandboxId),
		effect: func(context.Context) error {
			r.mu.Lock()
			defer r.mu.Unlock()
			if s := r.sandbox(in.PodSandboxId); s != nil {
				r.removeSandbox(s)
			}
			return nil
		},
	})
}

func (r *Runtime) removeSandbox(s *sandbox) {
	r.stopSandbox(s)
	for _, c := range r.containersIn(s.id) {
		r.remove(c)
	}
	r.sandboxes = slices.DeleteFunc(r.sandboxes, func(o *sandbox) bool { return o == s })
	delete(r.reserved, s.name())
	r.emit(s, nil, deleted)
}

// PodSandboxStatus is one sandbox.
func (r *Runtime) PodSandboxStatus(ctx context.Context, in *runtimeapi.PodSandboxStatusRequest, _ ...callOption) (*runtimeapi.PodSandboxStatusResponse, error) {
	out := &runtimeapi.PodSandboxStatusResponse{}
	err := r.do(ctx, call{rpc: "PodSandboxStatus", subject: r.podOf(in.PodSandboxId), effect: func(context.Context) error {
		r.mu.Lock()
		defer r.mu.Unlock()
		s := r.sandbox(in.PodSandboxId)
		if s == nil {
			return status.Errorf(codes.NotFound, "an error occurred when try to find sandbox %q: not found", in.PodSandboxId)
		}
		out.Status = s.status()
		if in.Verbose && r.disk != nil {
			out.Info = map[string]string{"info": fmt.Sprintf(`{"image": %q}`, r.disk.SandboxImage)}
		}
		return nil
	}})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// ListPodSandbox lists sandboxes by label.
func (r *Runtime) ListPodSandbox(ctx context.Context, in *runtimeapi.ListPodSandboxRequest, _ ...callOption) (*runtimeapi.ListPodSandboxResponse, error) {
	out := &runtimeapi.ListPodSandboxResponse{}
	err := r.do(ctx, call{rpc: "ListPodSandbox", effect: func(context.Context) error {
		r.mu.Lock()
		defer r.mu.Unlock()
		for _, s := range r.sandboxes {
			if has(s.config.Labels, in.GetFilter().GetLabelSelector()) {
				out.Items = append(out.Items, &runtimeapi.PodSandbox{
					Id: s.id, Metadata: s.config.Metadata, State: s.status().State, Labels: s.config.Labels,
				})
			}
		}
		return nil
	}})
	if err != nil {
		return nil, err
	}
	return out, nil
}

func has(labels, selector map[string]string) bool {
	for key, value := range selector {
		if labels[key] != value {
			return false
		}
	}
	return true
}

func (r *Runtime) sandbox(id string) *sandbox {
	for _, s := range r.sandboxes {
		if s.id == id {
			return s
		}
	}
	return nil
}

// podOf is the pod of a sandbox's id, or the id.
func (r *Runtime) podOf(id string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s := r.sandbox(id); s != nil {
		return s.config.Metadata.Name
	}
	return id
}
