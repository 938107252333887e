package worker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/cri"
	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/worker/criconfig"
	"github.com/lifepod/lifepod/worker/podlog"
	"github.com/lifepod/lifepod/worker/volumes"
)

// createContainer resolves what the container is started with and creates it. A
// config that can't be made is CreateContainerConfigError (A-CST-7), unless this machine lacks files or memory to make it.
func (h *executor) createContainer(ctx context.Context, e lifecycle.CreateContainer) lifecycle.Fact {
	fact := lifecycle.ContainerCreated{Result: lifecycle.Result{ID: e.ID}}
	config, err := h.containerConfig(ctx, e)
	var sandbox *runtimeapi.PodSandboxConfig
	if err == nil {
		sandbox, err = h.sandboxOfPod()
	}
	if cri.Lacking(err) {
		fact.Failure = &lifecycle.Failure{Class: lifecycle.Unavailable, Message: err.Error()}
		return fact
	}
	if err != nil {
		fact.Failure = &lifecycle.Failure{Reason: "CreateContainerConfigError", Message: err.Error()}
		return fact
	}
	defer h.engine.Cgroups.Expect()() // the start follows at once
	created, err := h.engine.Runtime.CreateContainer(ctx, &runtimeapi.CreateContainerRequest{
		PodSandboxId: e.SandboxID, Config: config, SandboxConfig: sandbox,
	})
	fact.ContainerID = created.GetContainerId()
	fact.Failure = cri.FailureOf(ctx, err)
	return fact
}

func (h *executor) containerConfig(ctx context.Context, e lifecycle.CreateContainer) (*runtimeapi.ContainerConfig, error) {
	spec := containerSpec(h.pod, e.Container)
	handler, err := h.runtimeHandler()
	if err != nil {
		return nil, err
	}
	users, err := h.userNamespace(handler)
	if err != nil {
		return nil, err
	}
	assigned, err := h.assigned(ctx, spec)
	if err != nil {
		return nil, err
	}
	env, err := h.environment(ctx, spec, e.PodIPs, assigned.Env)
	if err != nil {
		return nil, err
	}
	mounts, err := h.mounted.Mounts(spec, volumes.MountInput{
		Env: env.Env, Images: imageSpecs(e, handler), RecursiveReadOnly: h.engine.Features.Handlers[handler].RecursiveReadOnly, SELinux: h.engine.Config.SELinux,
	})
	if err != nil {
		return nil, err
	}
	devices, err := h.mounted.Devices(spec)
	if err != nil {
		return nil, err
	}
	hosts, err := h.hostsFile(spec, e.PodIPs)
	if err != nil {
		return nil, err
	}
	termination, err := h.newTerminationLog(spec, e.Attempt)
	if err != nil {
		return nil, err
	}
	if err := h.makeLogDir(e.Container); err != nil {
		return nil, err
	}
	return criconfig.Container(criconfig.ContainerInput{
		Node: h.engine.Config, Pod: h.pod, Container: spec, RestartCount: int(e.Attempt),
		ImageRef: e.Image.ID, ImageUser: criconfig.ImageUser{UID: e.Image.UID, Name: e.Image.Username},
		Environment: env, Mounts: mounts, Devices: devices, Assigned: assigned, HostsFile: hosts, TerminationLog: termination,
		TargetContainerID: e.TargetID,
		UserNamespace:     users,
		VolumeGroups:      h.mounted.Groups(),
	})
}

// assigned is what all parts of the node have assigned to a container by name.
func (h *executor) assigned(ctx context.Context, spec *v1.Container) (all criconfig.Assigned, err error) {
	for _, assigner := range h.engine.Assigners {
		part, err := assigner.Assigned(ctx, h.pod, spec)
		if err != nil {
			return all, err
		}
		all.Add(part)
	}
	return all, nil
}

func (h *executor) environment(ctx context.Context, spec *v1.Container, podIPs []string, assigned []criconfig.KeyValue) (criconfig.Environment, error) {
	input := criconfig.EnvironmentInput{
		Pod: h.pod, Container: spec, Objects: h.engine.API.Objects(h.pod), Assigned: assigned,
		PodIPs: podIPs, HostIPs: h.engine.Options.HostIPs, Allocatable: h.engine.Allocatable, VolumePath: h.mounted.Path,
	}
	if h.engine.API.Services != nil {
		services, err := h.engine.API.Services.Variables(ctx, h.pod)
		if err != nil {
			return criconfig.Environment{}, err
		}
		input.Services = services
	}
	return criconfig.BuildEnvironment(input)
}

// imageSpecs are what the runtime has to know of the images of image volumes.
func imageSpecs(e lifecycle.CreateContainer, handler string) map[string]*runtimeapi.ImageSpec {
	specs := map[string]*runtimeapi.ImageSpec{}
	for _, v := range e.Volumes {
		specs[v.Volume] = &runtimeapi.ImageSpec{Image: v.Image.ID, UserSpecifiedImage: v.Reference, RuntimeHandler: handler}
	}
	return specs
}

// hostsFile writes the pod's /etc/hosts; empty if the container has its own (A-NET-1).
func (h *executor) hostsFile(spec *v1.Container, podIPs []string) (string, error) {
	if !criconfig.MountsHosts(h.pod, spec, podIPs) {
		return "", nil
	}
	hostname, err := criconfig.HostnameOf(h.pod, h.engine.DNS.Cluster.Domain)
	if err != nil {
		return "", err
	}
	return criconfig.WriteHosts(h.engine.podDir(h.pod.UID), h.pod, hostname, podIPs, h.engine.Services)
}

// terminationLogs is the folder of termination messages in a pod's.
const terminationLogs = "containers"

// terminationLog is the host's file of one instance's termination message (A-VOL-1, A-VOL-6).
func (h *executor) terminationLog(container string, attempt uint32) string {
	return filepath.Join(h.engine.podDir(h.pod.UID), terminationLogs, container, fmt.Sprintf("%08x", attempt))
}

func (h *executor) newTerminationLog(spec *v1.Container, attempt uint32) (string, error) {
	if spec.TerminationMessagePath == "" {
		return "", nil
	}
	path := h.terminationLog(spec.Name, attempt)
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return "", fmt.Errorf("termination message file: %w", err)
	}
	if err := os.WriteFile(path, nil, 0o666); err != nil {
		return "", fmt.Errorf("termination message file: %w", err)
	}
	return path, os.Chmod(path, 0o666) // whatever the umask
}

// keptLogs is how many instances' logs restarts of all containers leave of one container.
const keptLogs = 10

// removeFiles removes what a removed instance has written: its log, all of its
// rotated files, and its termination message (B-GC-3); the logs of a
// restart of all containers stay (B-RAC-7), the newest of them: a pod that takes a
// new task every second would fill the disk. What can't be removed goes with the pod.
func (h *executor) removeFiles(e lifecycle.RemoveContainer) {
	if h.engine.Folders.Keep {
		return
	}
	err := os.Remove(h.terminationLog(e.Container, e.Attempt))
	attempt := int(e.Attempt)
	if e.KeepLog {
		attempt -= keptLogs
	}
	if attempt >= 0 {
		log := filepath.Join(h.engine.Config.PodLogDirectory(h.pod), criconfig.ContainerLogPath(e.Container, attempt))
		err = errors.Join(err, podlog.RemoveAll(log))
	}
	if err != nil {
		h.engine.Log.Debug("remove a removed container's files", "container", e.Container, "err", err)
	}
}

func (h *executor) makeLogDir(container string) error {
	dir := filepath.Join(h.engine.Config.PodLogDirectory(h.pod), container)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("log folder: %w", err)
	}
	return nil
}

// containerSpec is a container of any kind that the machine asked for.
func containerSpec(pod *v1.Pod, name string) *v1.Container {
	if c := findContainer(pod, name); c != nil {
		return c
	}
	panic("worker: the machine asked for a container that is not in the pod: " + name)
}

// findContainer finds a container of any kind by its name, nil if the pod has
// none: the runtime may have one that somebody else labelled as the pod's.
func findContainer(pod *v1.Pod, name string) *v1.Container {
	for _, c := range lifecycle.Containers(pod) {
		if c.Name == name {
			return c
		}
	}
	for i := range pod.Spec.EphemeralContainers {
		if c := (*v1.Container)(&pod.Spec.EphemeralContainers[i].EphemeralContainerCommon); c.Name == name {
			return c
		}
	}
	return nil
}
