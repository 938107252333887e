package sandbox

import (
	"context"
	"os"
	"sync"

	eventsapi "github.com/containerd/containerd/api/events"
	taskapi "github.com/containerd/containerd/api/runtime/task/v3"
	tasktypes "github.com/containerd/containerd/api/types/task"
	"github.com/containerd/containerd/v2/core/runtime"
	"github.com/containerd/containerd/v2/pkg/protobuf"
	"github.com/containerd/containerd/v2/pkg/shim"
	"github.com/containerd/errdefs"
	"github.com/containerd/errdefs/pkg/errgrpc"
	"github.com/containerd/log"
	"golang.org/x/sys/unix"
	"google.golang.org/protobuf/types/known/emptypb"
)

// Service answers for the sandbox itself, and has containerd's task service answer for
// the containers. That service knows nothing of the sandbox: what only a container has
// (a program to run, streams, limits of its own) is "container not created" there.
type Service struct {
	taskapi.TTRPCTaskService
	publisher shim.Publisher

	mu      sync.Mutex
	sandbox *sandbox // nil before it is made, after its deletion, and if runc makes it
}

// NewService puts the sandbox before tasks.
func NewService(tasks taskapi.TTRPCTaskService, publisher shim.Publisher) *Service {
	return &Service{TTRPCTaskService: tasks, publisher: publisher}
}

// find returns the sandbox of that ID; nil, if it is that of a container.
func (s *Service) find(id string) *sandbox {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sandbox == nil || s.sandbox.id != id {
		return nil
	}
	return s.sandbox
}

// Create makes the sandbox, or a container.
func (s *Service) Create(ctx context.Context, r *taskapi.CreateTaskRequest) (*taskapi.CreateTaskResponse, error) {
	o, err := newOrder(r)
	if err != nil {
		return nil, err
	}
	if o == nil {
		return s.TTRPCTaskService.Create(ctx, r)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sandbox != nil {
		return nil, errgrpc.ToGRPCf(errdefs.ErrAlreadyExists, "sandbox %s", s.sandbox.id)
	}
	made, err := create(context.WithoutCancel(ctx), *o)
	if err != nil {
		return nil, errgrpc.ToGRPC(err)
	}
	s.sandbox = made
	pid := uint32(made.record.PID)
	s.publish(ctx, &eventsapi.TaskCreate{ContainerID: r.ID, Bundle: r.Bundle, Rootfs: r.Rootfs, IO: &eventsapi.TaskIO{}, Pid: pid})
	go s.tellEnd(context.WithoutCancel(ctx), made)
	return &taskapi.CreateTaskResponse{Pid: pid}, nil
}

// publish tells containerd of an event, as its own task service does.
func (s *Service) publish(ctx context.Context, event any) {
	if err := s.publisher.Publish(ctx, runtime.GetTopic(event), event); err != nil {
		log.G(ctx).WithError(err).Error("post event")
	}
}

func (s *Service) tellEnd(ctx context.Context, b *sandbox) {
	<-b.ended
	s.publish(ctx, &eventsapi.TaskExit{
		ContainerID: b.id, ID: b.id, Pid: uint32(b.record.PID),
		ExitStatus: uint32(b.exit.Status), ExitedAt: protobuf.ToTimestamp(b.exit.Timestamp),
	})
}

// Start lets the sandbox count as running: its process has held the namespaces since
// Create.
func (s *Service) Start(ctx context.Context, r *taskapi.StartRequest) (*taskapi.StartResponse, error) {
	b := s.find(r.ID)
	if b == nil || r.ExecID != "" {
		return s.TTRPCTaskService.Start(ctx, r)
	}
	s.mu.Lock()
	begins := !b.started && !b.hasEnded()
	b.started = true
	s.mu.Unlock()
	if !begins {
		return nil, errgrpc.ToGRPCf(errdefs.ErrFailedPrecondition, "sandbox %s has been started or has ended", r.ID)
	}
	pid := uint32(b.record.PID)
	s.publish(ctx, &eventsapi.TaskStart{ContainerID: r.ID, Pid: pid})
	return &taskapi.StartResponse{Pid: pid}, nil
}

// runs says whether the sandbox has been started and not ended.
func (s *Service) runs(b *sandbox) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return b.started && !b.hasEnded()
}

// Delete removes what is left of the sandbox, whose process has ended. One that was never
// started, because its caller has given up, is ended: so does runc.
func (s *Service) Delete(ctx context.Context, r *taskapi.DeleteRequest) (*taskapi.DeleteResponse, error) {
	b := s.find(r.ID)
	if b == nil || r.ExecID != "" {
		return s.TTRPCTaskService.Delete(ctx, r)
	}
	if s.runs(b) {
		return nil, errgrpc.ToGRPCf(errdefs.ErrFailedPrecondition, "sandbox %s has not ended", r.ID)
	}
	b.kill(unix.SIGKILL)
	<-b.ended
	if err := b.cgroup.Remove(); err != nil {
		return nil, errgrpc.ToGRPC(err)
	}
	s.mu.Lock()
	s.sandbox = nil
	s.mu.Unlock()
	answer := &taskapi.DeleteResponse{
		Pid: uint32(b.record.PID), ExitStatus: uint32(b.exit.Status), ExitedAt: protobuf.ToTimestamp(b.exit.Timestamp),
	}
	s.publish(ctx, &eventsapi.TaskDelete{ContainerID: r.ID, Pid: answer.Pid, ExitStatus: answer.ExitStatus, ExitedAt: answer.ExitedAt})
	return answer, nil
}

// Kill sends a signal to the sandbox's process.
func (s *Service) Kill(ctx context.Context, r *taskapi.KillRequest) (*emptypb.Empty, error) {
	b := s.find(r.ID)
	if b == nil || r.ExecID != "" {
		return s.TTRPCTaskService.Kill(ctx, r)
	}
	if b.hasEnded() {
		return nil, errgrpc.ToGRPCf(errdefs.ErrNotFound, "process already finished")
	}
	b.kill(unix.Signal(r.Signal))
	return &emptypb.Empty{}, nil
}

// Wait returns when the sandbox's process has ended.
func (s *Service) Wait(ctx context.Context, r *taskapi.WaitRequest) (*taskapi.WaitResponse, error) {
	b := s.find(r.ID)
	if b == nil || r.ExecID != "" {
		return s.TTRPCTaskService.Wait(ctx, r)
	}
	select {
	case <-b.ended:
		return &taskapi.WaitResponse{ExitStatus: uint32(b.exit.Status), ExitedAt: protobuf.ToTimestamp(b.exit.Timestamp)}, nil
	case <-ctx.Done():
		return nil, errgrpc.ToGRPC(ctx.Err())
	}
}

// State says what has become of the sandbox.
func (s *Service) State(ctx context.Context, r *taskapi.StateRequest) (*taskapi.StateResponse, error) {
	b := s.find(r.ID)
	if b == nil || r.ExecID != "" {
		return s.TTRPCTaskService.State(ctx, r)
	}
	answer := &taskapi.StateResponse{ID: r.ID, Bundle: b.bundle, Pid: uint32(b.record.PID), Status: tasktypes.Status_CREATED}
	if s.runs(b) {
		answer.Status = tasktypes.Status_RUNNING
	}
	if b.hasEnded() {
		answer.Status = tasktypes.Status_STOPPED
		answer.ExitStatus, answer.ExitedAt = uint32(b.exit.Status), protobuf.ToTimestamp(b.exit.Timestamp)
	}
	return answer, nil
}

// Connect says which processes there are.
func (s *Service) Connect(ctx context.Context, r *taskapi.ConnectRequest) (*taskapi.ConnectResponse, error) {
	b := s.find(r.ID)
	if b == nil {
		return s.TTRPCTaskService.Connect(ctx, r)
	}
	return &taskapi.ConnectResponse{ShimPid: uint32(os.Getpid()), TaskPid: uint32(b.record.PID)}, nil
}

// Pids lists the sandbox's one process, until it has ended.
func (s *Service) Pids(ctx context.Context, r *taskapi.PidsRequest) (*taskapi.PidsResponse, error) {
	b := s.find(r.ID)
	if b == nil {
		return s.TTRPCTaskService.Pids(ctx, r)
	}
	answer := &taskapi.PidsResponse{}
	if !b.hasEnded() {
		answer.Processes = []*tasktypes.ProcessInfo{{Pid: uint32(b.record.PID)}}
	}
	return answer, nil
}

// Shutdown ends the shim once neither the sandbox nor a container is left.
func (s *Service) Shutdown(ctx context.Context, r *taskapi.ShutdownRequest) (*emptypb.Empty, error) {
	s.mu.Lock()
	left := s.sandbox != nil
	s.mu.Unlock()
	if left {
		return &emptypb.Empty{}, nil
	}
	return s.TTRPCTaskService.Shutdown(ctx, r)
}
