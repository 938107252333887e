package output

import (
	"context"
	"time"

	taskapi "github.com/containerd/containerd/api/runtime/task/v3"
	tasktypes "github.com/containerd/containerd/api/types/task"
)

// patience is how long the state of a container that has ended may wait for its output: as long as
// the task service itself waits for that when the container is deleted. Another process may hold the pipe.
const patience = 2 * time.Second

// Service has the state of an ended container told when its output has been read.
type Service struct{ taskapi.TTRPCTaskService }

// State says what has become of a container.
func (s Service) State(ctx context.Context, r *taskapi.StateRequest) (*taskapi.StateResponse, error) {
	answer, err := s.TTRPCTaskService.State(ctx, r)
	if err != nil || r.ExecID != "" || answer.Status != tasktypes.Status_STOPPED {
		return answer, err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for _, path := range []string{answer.Stdout, answer.Stderr} {
		awaitRead(ctx, path)
	}
	return answer, nil
}
