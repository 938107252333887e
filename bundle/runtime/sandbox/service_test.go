package sandbox

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	taskapi "github.com/containerd/containerd/api/runtime/task/v3"
	"github.com/containerd/containerd/api/types/runc/options"
	"github.com/containerd/typeurl/v2"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/lifepod/lifepod/bundle/runtime/internal/assert"
)

// tasks is a task service that has no container.
type tasks struct {
	taskapi.TTRPCTaskService
	made, ended int
}

func (c *tasks) Create(context.Context, *taskapi.CreateTaskRequest) (*taskapi.CreateTaskResponse, error) {
	c.made++
	return &taskapi.CreateTaskResponse{}, nil
}

func (c *tasks) Shutdown(context.Context, *taskapi.ShutdownRequest) (*emptypb.Empty, error) {
	c.ended++
	return &emptypb.Empty{}, nil
}

// What another runtime than the carried runc is to make, it makes itself.
func TestOthersMakeTheirSandboxes(t *testing.T) {
	bundle := t.TempDir()
	spec := `{"annotations": {"io.kubernetes.cri.container-type": "sandbox"}, "process": {}, "linux": {"cgroupsPath": "/a", "namespaces": [{"type": "mount"}]}}`
	assert.Must(t, os.WriteFile(filepath.Join(bundle, "config.json"), []byte(spec), 0o600))
	other := filepath.Join(bundle, "krun")
	assert.Must(t, os.WriteFile(other, nil, 0o600))
	for _, name := range []string{"", "runc", other, filepath.Join(bundle, "none")} {
		opts := assert.Get(typeurl.MarshalAnyToProto(&options.Options{BinaryName: name})).Must(t)
		containers := &tasks{}
		s := NewService(containers, nil)
		if _, err := s.Create(t.Context(), &taskapi.CreateTaskRequest{ID: "a", Bundle: bundle, Options: opts}); err != nil || containers.made != 1 {
			t.Errorf("runtime %q: %v, made %d", name, err, containers.made)
		}
		if _, err := s.Shutdown(t.Context(), &taskapi.ShutdownRequest{ID: "a"}); err != nil || containers.ended != 1 {
			t.Errorf("runtime %q: the shim goes on: %v", name, err)
		}
	}
}

// The shim lives as long as the sandbox is not deleted, which takes its end.
func TestShimLivesWithItsSandbox(t *testing.T) {
	containers := &tasks{}
	s := NewService(containers, nil)
	s.sandbox = &sandbox{order: order{id: "a"}, started: true, ended: make(chan struct{})}
	if _, err := s.Shutdown(t.Context(), &taskapi.ShutdownRequest{ID: "a"}); err != nil || containers.ended != 0 {
		t.Errorf("the shim ended: %v", err)
	}
	assert.Fails(t, assert.ErrorOf(s.Delete(t.Context(), &taskapi.DeleteRequest{ID: "a"})), "a sandbox that runs was deleted")
}
