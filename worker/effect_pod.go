package worker

import (
	"context"
	"errors"
	"os"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/cri"
	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/worker/criconfig"
	"github.com/lifepod/lifepod/worker/volumes"
)

// mountVolumes makes the pod's folders and volumes; each volume that fails is a
// message of its own (A-SYNC-7, A-SYNC-8).
func (h *executor) mountVolumes(ctx context.Context, e lifecycle.MountVolumes) lifecycle.Fact {
	sources := h.volumeSources()
	if lifecycle.SandboxNeedsVolumeGroups(h.pod) {
		sources.Found = func(groups []int64) {
			h.groups.Store(&groups)
			h.post(lifecycle.VolumesFound(e))
		}
	}
	mounted, err := volumes.Prepare(ctx, h.pod, h.engine.podDir(h.pod.UID), sources)
	if err == nil {
		h.mounted = mounted
		h.groups.Store(new(mounted.Groups()))
	}
	r := eachVolume(result(ctx, e.ID, err), err)
	if limit, is := errors.AsType[*volumes.LimitError](err); is {
		r.Failure.Reason, r.Failure.Message = lifecycle.AttachLimit, limit.Error()
	}
	return lifecycle.VolumesMounted{Result: r}
}

// refreshVolumes brings the files of running containers up to date (A-VOL-5).
func (h *executor) refreshVolumes(ctx context.Context, e lifecycle.RefreshVolumes) lifecycle.Fact {
	err := volumes.Refresh(ctx, h.pod, h.engine.podDir(h.pod.UID), h.volumeSources())
	return lifecycle.VolumesRefreshed{Result: eachVolume(result(ctx, e.ID, err), err)}
}

// eachVolume gives a failure of several volumes a message for each.
func eachVolume(r lifecycle.Result, err error) lifecycle.Result {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, one := range joined.Unwrap() {
			r.Failure.Each = append(r.Failure.Each, one.Error())
		}
	}
	return r
}

func (h *executor) volumeSources() volumes.Sources {
	api := h.engine.API
	return volumes.Sources{
		Objects: api.Objects(h.pod), Allocatable: h.engine.Allocatable, ClaimsDir: h.engine.Folders.Claims, API: api.Volumes, CSI: api.CSI,
		Operation: api.VolumeOperation,
	}
}

func (h *executor) unmountVolumes(ctx context.Context, e lifecycle.UnmountVolumes) lifecycle.Fact {
	return lifecycle.VolumesUnmounted{Result: result(ctx, e.ID, h.removeFolder(ctx, e.KeepLogs))}
}

// removeFolder removes the volumes, the pod's folder and, unless they are to
// stay, its logs (B-FIN-6, B-FIN-11, B-GC-5).
func (h *executor) removeFolder(ctx context.Context, keepLogs bool) error {
	h.leaveLogs()
	if err := h.engine.takeBack(ctx, h.pod.UID); err != nil {
		return err
	}
	began := time.Now()
	err := h.removeVolumes(keepLogs)
	h.countUnmounts(began, err)
	if err != nil || keepLogs || h.engine.Folders.Keep {
		return err
	}
	return h.engine.Config.RemovePodLogs(h.pod)
}

func (h *executor) removeVolumes(keepLogs bool) error {
	dir := h.engine.podDir(h.pod.UID)
	switch {
	case h.engine.Folders.Keep:
		return volumes.Unmount(dir)
	case keepLogs: // with the termination messages: a kubelet would read them again
		return volumes.Clear(dir, terminationLogs)
	}
	return volumes.Remove(dir)
}

// countUnmounts counts the volumes that were taken away (A-VOL-7), once.
func (h *executor) countUnmounts(began time.Time, err error) {
	if h.engine.API.VolumeOperation == nil || h.unmounted {
		return
	}
	for _, o := range h.mounted.Unmounted(began, err) {
		h.engine.API.VolumeOperation(o)
	}
	h.unmounted = err == nil
}

func (h *executor) removeCgroup(ctx context.Context, e lifecycle.RemoveCgroup) lifecycle.Fact {
	return lifecycle.CgroupRemoved{Result: result(ctx, e.ID, h.leaveNode(ctx))}
}

// leaveNode gives back the last of what the pod holds: its address, which
// outlived its sandboxes, and its cgroup.
func (h *executor) leaveNode(ctx context.Context) error {
	if h.engine.Folders.IPAM != "" {
		if err := criconfig.ReleaseAddress(h.engine.Folders.IPAM, h.pod.UID); err != nil {
			return err
		}
	}
	return h.engine.Cgroups.Remove(ctx, h.pod.UID, lifecycle.QOSClass(h.pod))
}

// createSandbox builds the sandbox's config and runs it; its addresses are read
// from its status (A-SBX-4).
func (h *executor) createSandbox(ctx context.Context, e lifecycle.CreateSandbox) lifecycle.Fact {
	fact := lifecycle.SandboxCreated{Result: lifecycle.Result{ID: e.ID}}
	handler, err := h.runtimeHandler()
	var config *runtimeapi.PodSandboxConfig
	if err == nil && h.engine.Network != nil && !h.pod.Spec.HostNetwork {
		if network := h.engine.Network.Ready(ctx, h.pod); network != nil {
			fact.Failure = &lifecycle.Failure{Reason: lifecycle.NetworkNotReady, Message: "network is not ready: " + network.Error()}
			return fact
		}
	}
	if err == nil {
		config, fact.Warnings, err = h.sandboxConfig(e.Attempt, handler)
	}
	if err == nil {
		h.sandbox = config
		err = os.MkdirAll(config.LogDirectory, 0o755)
	}
	if err != nil {
		fact.Failure = &lifecycle.Failure{Message: err.Error()}
		return fact
	}
	defer h.engine.Cgroups.Expect()()
	created, err := h.engine.Runtime.RunPodSandbox(ctx, &runtimeapi.RunPodSandboxRequest{Config: config, RuntimeHandler: handler})
	if err == nil {
		fact.SandboxID = created.PodSandboxId
		var status *runtimeapi.PodSandboxStatusResponse
		status, err = h.engine.Runtime.PodSandboxStatus(ctx, &runtimeapi.PodSandboxStatusRequest{PodSandboxId: created.PodSandboxId})
		fact.IPs = cri.IPs(status.GetStatus())
		if err != nil {
			// the sandbox is there: it is found again by a snapshot
			fact.Failure = &lifecycle.Failure{Class: lifecycle.Uncertain, Message: cri.Text(err)}
			return fact
		}
	}
	fact.Failure = cri.FailureOf(ctx, err)
	if err != nil && h.engine.Network != nil {
		h.engine.Network.Doubt()
	}
	return fact
}

// sandboxOfPod is what the pod's sandbox was created with.
func (h *executor) sandboxOfPod() (*runtimeapi.PodSandboxConfig, error) {
	if h.sandbox != nil {
		return h.sandbox, nil
	}
	handler, err := h.runtimeHandler()
	if err != nil {
		return nil, err
	}
	config, _, err := h.sandboxConfig(h.attempt, handler)
	return config, err
}

func (h *executor) sandboxConfig(attempt uint32, handler string) (*runtimeapi.PodSandboxConfig, []lifecycle.Warning, error) {
	hostname, err := criconfig.HostnameOf(h.pod, h.engine.DNS.Cluster.Domain)
	if err != nil {
		return nil, nil, err
	}
	users, err := h.userNamespace(handler)
	if err != nil {
		return nil, nil, err
	}
	var resolver criconfig.Resolver
	if read := h.engine.DNS.Resolver; read != nil {
		if resolver, err = read(); err != nil {
			return nil, nil, err
		}
	}
	dns, warnings := criconfig.DNS(h.pod, h.engine.DNS.Cluster, resolver)
	var groups []int64
	if known := h.groups.Load(); known != nil {
		groups = *known
	}
	return criconfig.Sandbox(criconfig.SandboxInput{
		Node:         h.engine.Config,
		Pod:          h.pod,
		Attempt:      attempt,
		CgroupParent: h.engine.Cgroups.Path(h.pod),
		Hostname:     hostname.Kernel,
		DNS:          dns,
		PortMappings: criconfig.PortMappings(h.pod),

		UserNamespace: users,
		VolumeGroups:  groups,
	}), warnings, nil
}
