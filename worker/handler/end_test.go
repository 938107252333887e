package handler

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/cri/crifake"
	"github.com/lifepod/lifepod/internal/assert"
)

// A-PROBE-13: a command that has timed out on a runtime that hangs, and is then
// not wanted any more, holds up nobody.
func TestRunNotWantedAfterTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := crifake.New("image")
		r.Command("main", "hang")
		r.Fault("hang ContainerStatus")
		sandbox, err := r.RunPodSandbox(t.Context(), &runtimeapi.RunPodSandboxRequest{Config: &runtimeapi.PodSandboxConfig{
			Metadata: &runtimeapi.PodSandboxMetadata{Name: "web"},
		}})
		assert.Must(t, err)
		created, err := r.CreateContainer(t.Context(), &runtimeapi.CreateContainerRequest{
			PodSandboxId: sandbox.PodSandboxId,
			Config:       &runtimeapi.ContainerConfig{Metadata: &runtimeapi.ContainerMetadata{Name: "main"}, Image: &runtimeapi.ImageSpec{Image: "image"}},
		})
		assert.Must(t, err)
		assert.Must(t, assert.ErrorOf(r.StartContainer(t.Context(), &runtimeapi.StartContainerRequest{ContainerId: created.ContainerId})))
		const timeout, wanted = time.Second, 3 * time.Second
		ctx, cancel := context.WithTimeout(t.Context(), wanted)
		defer cancel()
		began := time.Now()
		_, err = NewRunner(r).Run(ctx, Command{ContainerID: created.ContainerId, Args: []string{"check"}, Timeout: timeout})
		if took := time.Since(began); err == nil || took != wanted+cancelTime {
			t.Errorf("%v, took %v, want %v", err, took, wanted+cancelTime)
		}
	})
}
