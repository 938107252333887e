package bundle

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"syscall"
	"time"

	tasksapi "github.com/containerd/containerd/api/services/tasks/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/cri"
)

// taskPatience bounds the end of one lost task, whose process is killed.
const taskPatience = 10 * time.Second

// endLostTasks ends the tasks of containers that CRI holds for ended. A caller that
// dies just when the task of a container is made has containerd forget it: the
// container has a StartError, its task stays, and neither container nor sandbox can
// be removed ("cannot delete running task"). Containers that ended in order have no
// task any more before CRI says so.
func (p Paths) endLostTasks(ctx context.Context, log *slog.Logger) error {
	client, err := cri.Dial("unix://" + p.Socket())
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }() // all that it was told has been answered
	exited, err := exitedContainers(ctx, client)
	if err != nil {
		return err
	}
	tasks := tasksapi.NewTasksClient(client.Conn)
	ctx = metadata.AppendToOutgoingContext(ctx, "containerd-namespace", namespace)
	var errs []error
	for _, container := range exited {
		ended, err := endTask(ctx, tasks, container)
		switch {
		case err != nil:
			errs = append(errs, fmt.Errorf("end the lost task of container %s: %w", container, err))
		case ended:
			log.Warn("a task that containerd has lost is ended", "container", container)
		}
	}
	return errors.Join(errs...)
}

func exitedContainers(ctx context.Context, client *cri.Client) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, lostPatience)
	defer cancel()
	list, err := client.Runtime.ListContainers(ctx, &runtimeapi.ListContainersRequest{Filter: &runtimeapi.ContainerFilter{
		State: &runtimeapi.ContainerStateValue{State: runtimeapi.ContainerState_CONTAINER_EXITED},
	}})
	if err != nil {
		return nil, fmt.Errorf("list containers: %w", err)
	}
	var ids []string
	for _, container := range list.Containers {
		ids = append(ids, container.Id)
	}
	return ids, nil
}

// endTask kills and deletes a container's task, if it has one.
func endTask(ctx context.Context, tasks tasksapi.TasksClient, container string) (ended bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, taskPatience)
	defer cancel()
	if _, err := tasks.Get(ctx, &tasksapi.GetRequest{ContainerID: container}); err != nil {
		return false, unlessNotFound(err)
	}
	kill := &tasksapi.KillRequest{ContainerID: container, Signal: uint32(syscall.SIGKILL), All: true}
	if _, err := tasks.Kill(ctx, kill); unlessNotFound(err) != nil {
		return false, err
	}
	if _, err := tasks.Wait(ctx, &tasksapi.WaitRequest{ContainerID: container}); unlessNotFound(err) != nil {
		return false, err
	}
	_, err = tasks.Delete(ctx, &tasksapi.DeleteTaskRequest{ContainerID: container})
	return true, unlessNotFound(err)
}

// unlessNotFound is an error but for that of something that has gone already.
func unlessNotFound(err error) error {
	if status.Code(err) == codes.NotFound {
		return nil
	}
	return err
}
