package cri

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"net/netip"
	"time"

	"k8s.io/apimachinery/pkg/types"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/lifecycle"
)

// PodUIDLabel is on every sandbox and container of a pod (A-CRI-2).
const PodUIDLabel = "io.kubernetes.pod.uid"

// Describe says in the core's words what a container's status tells of.
type Describe struct {
	// Exit of one that has ended, with the termination message from the pod's files.
	Exit func(*runtimeapi.ContainerStatus) lifecycle.ContainerExited
	// Said is what it tells of any: image, user and resources.
	Running func(*runtimeapi.ContainerStatus) lifecycle.ContainerRunning
}

// Observe reads all that the runtime has of one pod.
func Observe(ctx context.Context, runtime runtimeapi.RuntimeServiceClient, podUID string, describe Describe) (lifecycle.Observed, error) {
	o := lifecycle.Observed{Began: time.Now()}
	selector := map[string]string{PodUIDLabel: podUID}
	sandboxes, err := runtime.ListPodSandbox(ctx, &runtimeapi.ListPodSandboxRequest{
		Filter: &runtimeapi.PodSandboxFilter{LabelSelector: selector},
	})
	if err != nil {
		return o, fmt.Errorf("list sandboxes: %w", err)
	}
	for _, s := range sandboxes.Items {
		if err := observeSandbox(ctx, runtime, s.Id, &o); err != nil {
			return o, err
		}
	}
	containers, err := runtime.ListContainers(ctx, &runtimeapi.ListContainersRequest{
		Filter: &runtimeapi.ContainerFilter{LabelSelector: selector},
	})
	if err != nil {
		return o, fmt.Errorf("list containers: %w", err)
	}
	for _, c := range containers.Containers {
		if err := observeContainer(ctx, runtime, c, describe, &o); err != nil {
			return o, err
		}
	}
	return o, nil
}

func observeSandbox(ctx context.Context, runtime runtimeapi.RuntimeServiceClient, id string, o *lifecycle.Observed) error {
	r, err := runtime.PodSandboxStatus(ctx, &runtimeapi.PodSandboxStatusRequest{PodSandboxId: id})
	if IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("status of sandbox %s: %w", id, err)
	}
	o.Sandboxes = append(o.Sandboxes, lifecycle.ObservedSandbox{
		ID:      id,
		Attempt: r.GetStatus().GetMetadata().GetAttempt(),
		Ready:   r.GetStatus().GetState() == runtimeapi.PodSandboxState_SANDBOX_READY,
		IPs:     IPs(r.GetStatus()),
	})
	return nil
}

func observeContainer(ctx context.Context, runtime runtimeapi.RuntimeServiceClient, c *runtimeapi.Container, describe Describe, o *lifecycle.Observed) error {
	r, err := runtime.ContainerStatus(ctx, &runtimeapi.ContainerStatusRequest{ContainerId: c.Id})
	if IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("status of container %s: %w", c.Id, err)
	}
	status := r.GetStatus()
	seen := lifecycle.ObservedContainer{
		ID:        c.Id,
		Name:      status.GetMetadata().GetName(),
		Attempt:   status.GetMetadata().GetAttempt(),
		SandboxID: c.PodSandboxId,
		State:     states[status.GetState()],
		StartedAt: Time(status.GetStartedAt()),
	}
	said := describe.Running(status)
	seen.Reported = &said
	if seen.State == lifecycle.StateExited {
		exit := describe.Exit(status)
		seen.Exit = &exit
	}
	o.Containers = append(o.Containers, seen)
	return nil
}

var states = map[runtimeapi.ContainerState]lifecycle.ContainerState{
	runtimeapi.ContainerState_CONTAINER_CREATED: lifecycle.StateCreated,
	runtimeapi.ContainerState_CONTAINER_RUNNING: lifecycle.StateRunning,
	runtimeapi.ContainerState_CONTAINER_EXITED:  lifecycle.StateExited,
	runtimeapi.ContainerState_CONTAINER_UNKNOWN: lifecycle.StateUnknown,
}

// IPs are a sandbox's addresses as the runtime orders them (A-CST-17); none if one
// of them is no address (A-SBX-4).
func IPs(s *runtimeapi.PodSandboxStatus) []string {
	var ips []string
	if ip := s.GetNetwork().GetIp(); ip != "" {
		ips = append(ips, ip)
	}
	for _, more := range s.GetNetwork().GetAdditionalIps() {
		ips = append(ips, more.GetIp())
	}
	for _, ip := range ips {
		if _, err := netip.ParseAddr(ip); err != nil {
			return nil
		}
	}
	return ips
}

// Time is a CRI time stamp, in nanoseconds since 1970; 0 is the zero time.
func Time(nanoseconds int64) time.Time {
	if nanoseconds == 0 {
		return time.Time{}
	}
	return time.Unix(0, nanoseconds)
}

// Overview is a number for each pod that the runtime has something of. It differs
// from an earlier one once a sandbox or container has come, has gone, or is in
// another state. It takes two calls, however many pods there are.
type Overview map[types.UID]uint64

// Overlook makes an Overview.
func Overlook(ctx context.Context, runtime runtimeapi.RuntimeServiceClient) (Overview, error) {
	sandboxes, err := runtime.ListPodSandbox(ctx, &runtimeapi.ListPodSandboxRequest{})
	if err != nil {
		return nil, fmt.Errorf("list all sandboxes: %w", err)
	}
	containers, err := runtime.ListContainers(ctx, &runtimeapi.ListContainersRequest{})
	if err != nil {
		return nil, fmt.Errorf("list all containers: %w", err)
	}
	o := Overview{}
	for _, s := range sandboxes.GetItems() {
		o.add(s.GetLabels(), s.GetId(), int32(s.GetState()))
	}
	for _, c := range containers.GetContainers() {
		o.add(c.GetLabels(), c.GetId(), int32(c.GetState()))
	}
	return o, nil
}

// add counts one in. The sum is the same in whatever order they are listed.
func (o Overview) add(labels map[string]string, id string, state int32) {
	digest := fnv.New64a()
	_, _ = fmt.Fprintf(digest, "%s %d", id, state) // it never fails
	o[types.UID(labels[PodUIDLabel])] += digest.Sum64()
}

// PID is the machine's number of a container's first process, 0 if the runtime
// doesn't say: CRI leaves what a verbose status has in it to the runtime.
func PID(ctx context.Context, runtime runtimeapi.RuntimeServiceClient, containerID string) int {
	status, err := runtime.ContainerStatus(ctx, &runtimeapi.ContainerStatusRequest{ContainerId: containerID, Verbose: true})
	if err != nil {
		return 0
	}
	var info struct{ PID int }
	if json.Unmarshal([]byte(status.GetInfo()["info"]), &info) != nil {
		return 0
	}
	return info.PID
}
