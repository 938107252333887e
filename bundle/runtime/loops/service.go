// Package loops refuses the loop driver's ioctls to containers that have a loop device, whatever their seccomp profile
// says, also to those that are Unconfined.
//
// A raw block volume may be one. The kernel lets who has a loop device detach it, change its flags, and give it another
// file, without a capability. A container that has all devices of the machine is privileged, and as it was.
package loops

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	taskapi "github.com/containerd/containerd/api/runtime/task/v3"
	"github.com/containerd/containerd/v2/contrib/seccomp"
	"github.com/containerd/errdefs/pkg/errgrpc"
	specs "github.com/opencontainers/runtime-spec/specs-go"
)

// major is the number of the loop driver.
const major = 7

// Service changes the seccomp profiles of such containers before they are made.
type Service struct{ taskapi.TTRPCTaskService }

// Create makes a container.
func (s Service) Create(ctx context.Context, r *taskapi.CreateTaskRequest) (*taskapi.CreateTaskResponse, error) {
	if err := confine(filepath.Join(r.Bundle, "config.json")); err != nil {
		return nil, errgrpc.ToGRPC(fmt.Errorf("refuse container %s the loop driver's ioctls: %w", r.ID, err))
	}
	return s.TTRPCTaskService.Create(ctx, r)
}

// confine changes a container's spec if it has a loop device.
func confine(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var devices struct {
		Linux struct {
			Devices   []specs.LinuxDevice
			Resources struct{ Devices []specs.LinuxDeviceCgroup }
		}
	}
	if err := json.Unmarshal(text, &devices); err != nil {
		return err
	}
	isLoop := func(d specs.LinuxDevice) bool { return d.Type == "b" && d.Major == major }
	if !slices.ContainsFunc(devices.Linux.Devices, isLoop) || slices.ContainsFunc(devices.Linux.Resources.Devices, allowsAll) {
		return nil
	}
	var spec specs.Spec
	if err := json.Unmarshal(text, &spec); err != nil {
		return err
	}
	if spec.Linux.Seccomp == nil {
		spec.Linux.Seccomp = &specs.LinuxSeccomp{DefaultAction: specs.ActAllow, Architectures: defaultProfile().Architectures}
	}
	refuse(spec.Linux.Seccomp)
	if text, err = json.Marshal(spec); err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o600)
}

// defaultProfile is containerd's, for a container without capabilities.
func defaultProfile() *specs.LinuxSeccomp {
	return seccomp.DefaultProfile(&specs.Spec{Process: &specs.Process{Capabilities: &specs.LinuxCapabilities{}}})
}

// allowsAll says whether a rule of the cgroup allows to open all devices.
func allowsAll(d specs.LinuxDeviceCgroup) bool {
	return d.Allow && (d.Type == "" || d.Type == "a") && d.Major == nil && d.Minor == nil
}
