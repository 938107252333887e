package crifake

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/cri"
)

type sandbox struct {
	id        string
	config    *runtimeapi.PodSandboxConfig
	ip        string
	ready     bool
	createdAt time.Time

	order      int // of its creation
	containers []*container
}

func (s *sandbox) subject() subject { return subject{text: s.config.Metadata.Name, pod: s.config} }

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
	asked := call{rpc: "RunPodSandbox", subject: s.subject(), detail: sandboxDetail(in), name: s.name()}
	return ask(ctx, r, asked, func(out *runtimeapi.RunPodSandboxResponse) error {
		s.id, s.createdAt = r.newID(s.config.Metadata.Name), time.Now()
		s.ip, s.order = r.address(), r.lastID
		r.sandboxes[s.id] = s
		r.ofPod[s.config.Metadata.Uid] = append(r.ofPod[s.config.Metadata.Uid], s)
		r.endsLater(s)
		r.reserved[s.name()] = s.id
		r.emit(s, nil, created)
		r.emit(s, nil, started)
		out.PodSandboxId = s.id
		return nil
	})
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
	return ask(ctx, r, call{rpc: "StopPodSandbox", subject: r.podOf(in.PodSandboxId)}, func(*runtimeapi.StopPodSandboxResponse) error {
		if s := r.sandbox(in.PodSandboxId); s != nil {
			r.stopSandbox(s)
		}
		return nil
	})
}

func (r *Runtime) stopSandbox(s *sandbox) {
	for _, c := range r.containersIn(s.id) {
		r.exit(c, 137, "Error")
	}
	r.endSandbox(s)
}

// EndSandbox makes a pod's sandboxes not ready, unasked, as if their process had died.
func (r *Runtime) EndSandbox(pod string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.sandboxesFor(nil) {
		if s.config.Metadata.Name == pod {
			r.endSandbox(s)
		}
	}
}

func (r *Runtime) endSandbox(s *sandbox) {
	if s.ready {
		s.ready = false
		r.emit(s, nil, stopped)
	}
}

// address is that of the newest sandbox.
func (r *Runtime) address() string {
	if r.play == nil {
		return fmt.Sprintf("10.0.0.%d", r.lastID)
	}
	n := r.lastID % (250 * 250 * 250) // unique among those that live at the same time
	return fmt.Sprintf("10.%d.%d.%d", 1+n/250/250, n/250%250, 1+n%250)
}

// sandboxesFor are those that a selector of labels may mean, in the order of their creation; needs mu.
func (r *Runtime) sandboxesFor(selector map[string]string) []*sandbox {
	if uid := selector[cri.PodUIDLabel]; uid != "" {
		return r.ofPod[uid]
	}
	return slices.SortedFunc(maps.Values(r.sandboxes), func(a, b *sandbox) int { return cmp.Compare(a.order, b.order) })
}

// RemovePodSandbox removes a sandbox with all its containers; one that is not
// there is no error.
func (r *Runtime) RemovePodSandbox(ctx context.Context, in *runtimeapi.RemovePodSandboxRequest, _ ...callOption) (*runtimeapi.RemovePodSandboxResponse, error) {
	return ask(ctx, r, call{rpc: "RemovePodSandbox", subject: r.podOf(in.PodSandboxId)}, func(*runtimeapi.RemovePodSandboxResponse) error {
		if s := r.sandbox(in.PodSandboxId); s != nil {
			r.removeSandbox(s)
		}
		return nil
	})
}

func (r *Runtime) removeSandbox(s *sandbox) {
	r.stopSandbox(s)
	for _, c := range r.containersIn(s.id) {
		r.remove(c)
	}
	delete(r.sandboxes, s.id)
	uid := s.config.Metadata.Uid
	if r.ofPod[uid] = slices.DeleteFunc(r.ofPod[uid], func(o *sandbox) bool { return o == s }); len(r.ofPod[uid]) == 0 {
		delete(r.ofPod, uid)
	}
	delete(r.reserved, s.name())
	r.emit(s, nil, deleted)
	r.gone(s)
}

// PodSandboxStatus is one sandbox.
func (r *Runtime) PodSandboxStatus(ctx context.Context, in *runtimeapi.PodSandboxStatusRequest, _ ...callOption) (*runtimeapi.PodSandboxStatusResponse, error) {
	return ask(ctx, r, call{rpc: "PodSandboxStatus", subject: r.podOf(in.PodSandboxId)}, func(out *runtimeapi.PodSandboxStatusResponse) error {
		s := r.sandbox(in.PodSandboxId)
		if s == nil {
			return status.Errorf(codes.NotFound, "an error occurred when try to find sandbox %q: not found", in.PodSandboxId)
		}
		out.Status = s.status()
		if in.Verbose && r.disk != nil {
			out.Info = map[string]string{"info": fmt.Sprintf(`{"image": %q}`, r.disk.SandboxImage)}
		}
		return nil
	})
}

// ListPodSandbox lists sandboxes by label.
func (r *Runtime) ListPodSandbox(ctx context.Context, in *runtimeapi.ListPodSandboxRequest, _ ...callOption) (*runtimeapi.ListPodSandboxResponse, error) {
	return ask(ctx, r, call{rpc: "ListPodSandbox"}, func(out *runtimeapi.ListPodSandboxResponse) error {
		for _, s := range r.sandboxesFor(in.GetFilter().GetLabelSelector()) {
			if s.fits(in.GetFilter()) {
				out.Items = append(out.Items, &runtimeapi.PodSandbox{
					Id: s.id, Metadata: s.config.Metadata, State: s.status().State, CreatedAt: s.createdAt.UnixNano(),
					Labels: s.config.Labels, Annotations: s.config.Annotations,
				})
			}
		}
		return nil
	})
}

// fits says whether a filter asks for the sandbox.
func (s *sandbox) fits(f *runtimeapi.PodSandboxFilter) bool {
	return (f.GetId() == "" || f.GetId() == s.id) && (f.GetState() == nil || f.State.State == s.status().State) &&
		has(s.config.Labels, f.GetLabelSelector())
}

func has(labels, selector map[string]string) bool {
	for key, value := range selector {
		if labels[key] != value {
			return false
		}
	}
	return true
}

func (r *Runtime) sandbox(id string) *sandbox { return r.sandboxes[id] }

// podOf is the pod of a sandbox's id, or the id.
func (r *Runtime) podOf(id string) subject {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s := r.sandbox(id); s != nil {
		return s.subject()
	}
	return subject{text: id}
}
