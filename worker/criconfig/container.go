package criconfig

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// ContainerInput is everything a container config depends on.
type ContainerInput struct {
	Node      Node
	Pod       *v1.Pod
	Container *v1.Container
	// RestartCount is also the attempt and the name of the log file.
	RestartCount int
	// ImageRef is what the runtime calls the pulled image; ImageUser is whom the
	// image says to run as.
	ImageRef    string
	ImageUser   ImageUser
	Environment Environment
	// Mounts are those of the volumes.
	Mounts []*runtimeapi.Mount
	// Devices are the volumes that are block devices.
	Devices []*runtimeapi.Device
	// Assigned is what the container is given of the node by name.
	Assigned Assigned
	// HostsFile and TerminationLog are the host's files to mount; empty means
	// no such mount (A-NET-1, A-VOL-6).
	HostsFile      string
	TerminationLog string
	// TargetContainerID is the running container whose processes an ephemeral
	// container sees (A-CRI-5).
	TargetContainerID string
	// UserNamespace is set for a pod with hostUsers=false (A-SEC-6).
	UserNamespace *runtimeapi.UserNamespace
	// VolumeGroups are volumes' Mounted.Groups.
	VolumeGroups []int64
}

// Container builds a container config. An error is the message of the reason
// CreateContainerConfigError.
func Container(in ContainerInput) (*runtimeapi.ContainerConfig, error) {
	if err := verifyNonRoot(in); err != nil {
		return nil, err
	}
	annotations, err := containerAnnotations(in)
	if err != nil {
		return nil, err
	}
	security, err := containerSecurity(in)
	if err != nil {
		return nil, err
	}
	c := in.Container
	return &runtimeapi.ContainerConfig{
		Metadata:    &runtimeapi.ContainerMetadata{Name: c.Name, Attempt: uint32(in.RestartCount)},
		Image:       &runtimeapi.ImageSpec{Image: in.ImageRef, UserSpecifiedImage: c.Image},
		Command:     in.Environment.Command,
		Args:        in.Environment.Args,
		WorkingDir:  c.WorkingDir,
		Envs:        envs(in.Environment.Env),
		Mounts:      mounts(in),
		Devices:     slices.Concat(in.Assigned.Devices, in.Devices),
		CDIDevices:  in.Assigned.cdiDevices(),
		Labels:      containerLabels(in.Pod, c),
		Annotations: annotations,
		LogPath:     ContainerLogPath(c.Name, in.RestartCount),
		Stdin:       c.Stdin,
		StdinOnce:   c.StdinOnce,
		Tty:         c.TTY,
		StopSignal:  stopSignal(c),
		Linux: &runtimeapi.LinuxContainerConfig{
			Resources:       in.Assigned.limit(Resources(in.Node, in.Pod, c)),
			SecurityContext: security,
		},
	}, nil
}

// stopSignal is lifecycle.stopSignal, else the image's own (A-CRI-12, KEP-4960).
func stopSignal(c *v1.Container) runtimeapi.Signal {
	if c.Lifecycle == nil || c.Lifecycle.StopSignal == nil {
		return runtimeapi.Signal_SIGNAL_RUNTIME_DEFAULT
	}
	name := strings.NewReplacer("+", "PLUS", "-", "MINUS").Replace(string(*c.Lifecycle.StopSignal)) // SIGRTMIN+3
	return runtimeapi.Signal(runtimeapi.Signal_value["SIGNAL_"+name])
}

func envs(variables []KeyValue) []*runtimeapi.KeyValue {
	out := make([]*runtimeapi.KeyValue, 0, len(variables))
	for _, v := range variables {
		out = append(out, &runtimeapi.KeyValue{Key: v.Name, Value: []byte(v.Value)})
	}
	return out
}

// mounts are those of devices, the volumes, the hosts file and the termination log, in
// this order. In a user namespace the ids of each are mapped (A-VOL-2).
func mounts(in ContainerInput) []*runtimeapi.Mount {
	out := slices.Concat(in.Assigned.Mounts, in.Mounts)
	if in.HostsFile != "" {
		out = append(out, &runtimeapi.Mount{HostPath: in.HostsFile, ContainerPath: "/etc/hosts", SelinuxRelabel: in.Node.SELinux})
	}
	if in.TerminationLog != "" && in.Container.TerminationMessagePath != "" {
		out = append(out, &runtimeapi.Mount{HostPath: in.TerminationLog, ContainerPath: in.Container.TerminationMessagePath, SelinuxRelabel: in.Node.SELinux})
	}
	if in.UserNamespace == nil {
		return out
	}
	for _, mount := range out {
		mount.UidMappings, mount.GidMappings = in.UserNamespace.Uids, in.UserNamespace.Gids
	}
	return out
}

// podName is how Kubernetes names a pod in messages.
func podName(pod *v1.Pod) string {
	return fmt.Sprintf("%s_%s(%s)", pod.Name, pod.Namespace, pod.UID)
}
