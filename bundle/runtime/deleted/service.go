package deleted

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	taskapi "github.com/containerd/containerd/api/runtime/task/v3"
	"github.com/containerd/log"
	"github.com/containerd/ttrpc"
	"google.golang.org/protobuf/proto"
)

// Service leaves the answers of a task service in the bundles.
type Service struct{ taskapi.TTRPCTaskService }

// RegisterTTRPC is for the shim's server.
func (s Service) RegisterTTRPC(server *ttrpc.Server) error {
	taskapi.RegisterTTRPCTaskService(server, s)
	return nil
}

// Delete deletes a container or a sandbox, and leaves the answer in its bundle. It also deletes a process that was executed in a
// container: containerd does not clean up after those.
func (s Service) Delete(ctx context.Context, r *taskapi.DeleteRequest) (*taskapi.DeleteResponse, error) {
	answer, err := s.TTRPCTaskService.Delete(ctx, r)
	if err != nil || r.ExecID != "" {
		return answer, err
	}
	if err := leave(r.ID, answer); err != nil {
		log.G(ctx).WithError(err).Warn("containerd will clean up once more")
	}
	return answer, nil
}

// leave notes the answer in the bundle of that ID.
func leave(id string, answer *taskapi.DeleteResponse) error {
	folder, err := os.Getwd() // the bundle that the shim was started with, beside which the others are
	if err != nil {
		return err
	}
	return Leave(filepath.Join(filepath.Dir(folder), id), answer)
}

// fileName is the answer's in the bundle, as in repeat.c.
const fileName = "deleted"

// Leave writes down what was answered to the deletion of what the bundle is of. From then on the
// program does nothing else when it is asked to clean up there.
func Leave(bundle string, answer *taskapi.DeleteResponse) error {
	text, err := proto.Marshal(answer)
	if err != nil {
		return fmt.Errorf("note a deletion: %w", err)
	}
	return os.WriteFile(filepath.Join(bundle, fileName), text, 0o600)
}
