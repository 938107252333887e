package bundle

import (
	"context"
	"log/slog"
	"net"
	"testing"

	tasksapi "github.com/containerd/containerd/api/services/tasks/v1"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/internal/assert"
)

// listedContainers are what CRI says of containers.
type listedContainers struct {
	cri.UnimplementedRuntimeServiceServer
	states map[string]cri.ContainerState
}

func (l listedContainers) ListContainers(_ context.Context, in *cri.ListContainersRequest) (*cri.ListContainersResponse, error) {
	list := &cri.ListContainersResponse{}
	for id, state := range l.states {
		if state == in.Filter.State.State {
			list.Containers = append(list.Containers, &cri.Container{Id: id, State: state})
		}
	}
	return list, nil
}

// recordedTasks are containerd's tasks, with what it was asked to do to them.
type recordedTasks struct {
	tasksapi.UnimplementedTasksServer
	tasks map[string]bool
	asked []string
}

func (r *recordedTasks) Get(ctx context.Context, in *tasksapi.GetRequest) (*tasksapi.GetResponse, error) {
	asked, _ := metadata.FromIncomingContext(ctx)
	if !r.tasks[in.ContainerID] || cmp.Diff([]string{"k8s.io"}, asked.Get("containerd-namespace")) != "" {
		return nil, status.Error(codes.NotFound, "no such task")
	}
	return &tasksapi.GetResponse{}, nil
}

func (r *recordedTasks) Kill(_ context.Context, in *tasksapi.KillRequest) (*emptypb.Empty, error) {
	r.asked = append(r.asked, "kill "+in.ContainerID)
	return &emptypb.Empty{}, nil
}

func (r *recordedTasks) Wait(_ context.Context, in *tasksapi.WaitRequest) (*tasksapi.WaitResponse, error) {
	r.asked = append(r.asked, "wait "+in.ContainerID)
	return &tasksapi.WaitResponse{}, nil
}

func (r *recordedTasks) Delete(_ context.Context, in *tasksapi.DeleteTaskRequest) (*tasksapi.DeleteResponse, error) {
	r.asked = append(r.asked, "delete "+in.ContainerID)
	delete(r.tasks, in.ContainerID)
	return &tasksapi.DeleteResponse{}, nil
}

// A task whose container has ended, as CRI says, is ended, once; those of containers
// that run or are just starting are let alone (B-RST-1).
func TestLostTaskIsEnded(t *testing.T) {
	p := shortPaths(t)
	containers := listedContainers{states: map[string]cri.ContainerState{
		"lost": cri.ContainerState_CONTAINER_EXITED, "ended": cri.ContainerState_CONTAINER_EXITED,
		"starting": cri.ContainerState_CONTAINER_CREATED, "running": cri.ContainerState_CONTAINER_RUNNING,
	}}
	tasks := &recordedTasks{tasks: map[string]bool{"lost": true, "starting": true, "running": true}}
	listener := assert.Get(net.Listen("unix", p.Socket())).Must(t)
	server := grpc.NewServer()
	cri.RegisterRuntimeServiceServer(server, containers)
	tasksapi.RegisterTasksServer(server, tasks)
	go func() { _ = server.Serve(listener) }() // Stop ends it
	t.Cleanup(server.Stop)
	for range 2 {
		assert.Must(t, p.endLostTasks(t.Context(), slog.New(slog.DiscardHandler)))
	}
	assert.Deep(t, "what is asked of containerd", []string{"kill lost", "wait lost", "delete lost"}, tasks.asked)
}
